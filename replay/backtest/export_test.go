package backtest

// AuthorOf is authorOf, for tests of corpora.
var AuthorOf = authorOf
