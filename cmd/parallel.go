package cmd

// inOrder calls work for 0..n-1, at most jobs at once, and passes the results to
// use in that order, on the calling goroutine. It runs at most jobs results
// ahead, so that memory does not grow with n. An error of use ends it.
func inOrder[T any](n, jobs int, work func(i int) (T, error), use func(i int, v T, err error) error) error {
	type result struct {
		v   T
		err error
	}
	jobs = max(1, min(jobs, n))
	slots := make([]chan result, jobs)
	for i := range slots {
		slots[i] = make(chan result, 1)
	}
	start := func(i int) {
		go func() {
			v, err := work(i)
			slots[i%jobs] <- result{v, err}
		}()
	}
	for i := range min(jobs, n) {
		start(i)
	}
	for i := range n {
		r := <-slots[i%jobs]
		if i+jobs < n {
			start(i + jobs)
		}
		if err := use(i, r.v, r.err); err != nil {
			return err
		}
	}
	return nil
}
