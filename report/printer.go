package report

import "io"

// Printer prints results one after another.
type Printer[T any] interface {
	Add(result T) error
	Close() error // ends the output; no Add may follow
}

// pagePrinter prints a page per result, with an empty line between them.
type pagePrinter[T any] struct {
	w    io.Writer
	opt  Layout
	page func(p *page, result T)
	last func(p *page) // prints the page after two results or more; nil: none
	n    int           // pages printed
}

func (r *pagePrinter[T]) Add(result T) error {
	return r.print(func(p *page) { r.page(p, result) })
}

func (r *pagePrinter[T]) print(write func(p *page)) error {
	if r.n++; r.n > 1 {
		if _, err := io.WriteString(r.w, "\n"); err != nil {
			return err
		}
	}
	p := newPage(r.w, r.opt)
	write(p)
	return p.end()
}

func (r *pagePrinter[T]) Close() error {
	if r.n < 2 || r.last == nil {
		return nil
	}
	return r.print(r.last)
}

// eachPrinter prints each result by itself.
type eachPrinter[T any] func(result T) error

func (f eachPrinter[T]) Add(result T) error { return f(result) }

func (f eachPrinter[T]) Close() error { return nil }

// jsonPrinter prints results as the items of a stream, or a single one as it is.
type jsonPrinter[T any] struct {
	jsonStream
	single bool
	item   func(result T) any // the JSON form of a result
	tail   func() object      // the members after the list; nil: none
}

func (p *jsonPrinter[T]) Add(result T) error {
	if p.single {
		return WriteJSON(p.w, p.item(result))
	}
	item, err := encoded("    ", p.item(result))
	if err != nil {
		return err
	}
	return p.add(item)
}

func (p *jsonPrinter[T]) Close() error {
	switch {
	case p.single:
		return nil
	case p.tail == nil:
		return p.end(nil)
	}
	return p.end(p.tail())
}
