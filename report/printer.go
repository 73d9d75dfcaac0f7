package report

import "io"

// Printer prints results one after another. Close ends the output; no Add may follow it.
type Printer[T any] struct {
	Add   func(result T) error
	Close func() error
}

// eachPrinter returns a printer that prints each result by itself.
func eachPrinter[T any](add func(result T) error) Printer[T] {
	return Printer[T]{Add: add, Close: func() error { return nil }}
}

// pagePrinter returns a printer of a page per result, with an empty line between them, and of a last page after two
// results or more. A nil last prints none.
func pagePrinter[T any](w io.Writer, opt Layout, each func(p *page, result T), last func(p *page)) Printer[T] {
	pages := 0
	add := func(write func(p *page)) error {
		if pages++; pages > 1 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		p := newPage(w, opt)
		write(p)
		return p.end()
	}
	return Printer[T]{
		Add: func(result T) error { return add(func(p *page) { each(p, result) }) },
		Close: func() error {
			if pages < 2 || last == nil {
				return nil
			}
			return add(last)
		},
	}
}

// jsonPrinter returns a printer of the JSON form of results: of each by itself if single is set, else as the items of
// a stream.
func jsonPrinter[T any](s *jsonStream, single bool, form func(result T) any) Printer[T] {
	if single {
		return eachPrinter(func(result T) error { return WriteJSON(s.w, form(result)) })
	}
	return Printer[T]{Add: func(result T) error {
		item, err := encoded("    ", form(result))
		if err != nil {
			return err
		}
		return s.add(item)
	}, Close: s.end}
}
