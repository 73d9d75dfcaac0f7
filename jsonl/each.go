package jsonl

import (
	"cmp"
	"sync"
)

// Limits of a batch, so that a file of very short lines needs little memory.
const (
	batchItems    = 512
	workerBatches = 3 // per worker
)

// Each reads the content from its beginning and calls fn with every item that a Reader would return, in file order
// and on the calling goroutine. With jobs over 1, that many goroutines decode, about 512 KiB of lines at a time.
//
// The item and all it points to are valid until fn returns; strings stay valid. An error of fn ends Each and is
// returned as it is. A read error is returned, with file and line, after the items before it. A line that is not JSON
// is an item, not an error.
//
// Its longest line is that of the source's limits, unless opt has one.
//
// Only one Each of a Source may run at a time.
func (s *Source) Each(jobs int, opt ReadOptions, fn func(rec *Item) error) error {
	opt.MaxLine = cmp.Or(opt.MaxLine, int(s.limits.Line))
	if jobs <= 1 || s.plain && s.size < workerBlock {
		r := NewReader(s.reader(), s.name, opt)
		for r.Scan() {
			if err := fn(r.Item()); err != nil {
				return err
			}
		}
		return r.Err()
	}
	cut := newCutter(s.reader(), opt, workerBlock)
	cut.whole = true
	line, err := eachParallel(cut, s.name, jobs, opt, fn)
	if err != nil {
		return err
	}
	return cut.failure(s.name, line)
}

// batch holds items of one block. It is filled again, as is the memory of blocks: without that a replay is too slow next to
// ccusage (bar in docs/performance.md).
type batch struct {
	slots []*slot
	n     int         // of slots in use
	owner chan *batch // it is returned here
}

// job is one block for a worker.
type job struct {
	blk   block
	done  chan *batch // closed after the block's last batch
	lines int         // in the block, set before done is closed
}

// eachParallel decodes blocks on jobs goroutines and calls fn with their items in order. It returns the number of
// lines.
func eachParallel(cut *cutter, name string, jobs int, opt ReadOptions, fn func(*Item) error) (int, error) {
	var wg sync.WaitGroup
	quit := make(chan struct{})
	todo := make(chan *job)        // to the workers
	order := make(chan *job, jobs) // to the consumer, in file order
	memory := make(chan []byte, jobs+2)
	for range cap(memory) {
		memory <- nil
	}
	wg.Go(func() {
		defer close(order)
		defer close(todo)
		for {
			var mem []byte
			select {
			case mem = <-memory:
			case <-quit:
				return
			}
			b, ok := cut.next(mem)
			if !ok {
				return
			}
			j := &job{blk: b, done: make(chan *batch, workerBatches)}
			select {
			case order <- j:
			case <-quit:
				return
			}
			select {
			case todo <- j:
			case <-quit:
				return
			}
		}
	})
	for range jobs {
		wg.Go(func() {
			w := newWalker(name, opt)
			free := make(chan *batch, workerBatches)
			for range cap(free) {
				free <- &batch{owner: free}
			}
			for j := range todo {
				if !w.decode(j, free, quit) {
					return
				}
			}
		})
	}
	defer wg.Wait()
	defer close(quit)
	lines := 0
	for j := range order {
		for b := range j.done {
			for _, s := range b.slots[:b.n] {
				rec := &s.rec
				rec.move(lines)
				if err := fn(rec); err != nil {
					return lines, err
				}
			}
			b.owner <- b
		}
		lines += j.lines
		memory <- j.blk.fill
	}
	return lines, nil
}

// move adds to the line numbers of an item, which count from its block.
func (rec *Item) move(lines int) {
	rec.Line += lines
	switch {
	case rec.Entry != nil:
		rec.Entry.Line += lines
	case rec.Err != nil:
		rec.Err.Line += lines
	}
}

// decode decodes a block. It returns false where the consumer has quit.
func (w *walker) decode(j *job, free chan *batch, quit chan struct{}) bool {
	w.line = 0
	w.begin(j.blk)
	for more := true; more; {
		var b *batch
		select {
		case b = <-free:
		case <-quit:
			return false
		}
		for b.n = 0; b.n < batchItems; b.n++ {
			if b.n == len(b.slots) {
				b.slots = append(b.slots, new(slot))
			}
			if more = w.next(b.slots[b.n]); !more {
				break
			}
		}
		if !more {
			j.lines = w.line
		}
		select {
		case j.done <- b:
		case <-quit:
			return false
		}
	}
	close(j.done)
	return true
}
