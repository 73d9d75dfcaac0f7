package cmd

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// Inputs of largeInput bytes together are given the first hugeHeap bytes of the heap in huge pages; what the heap does not
// fill is not touched. Smaller ones take less memory in small pages, and are as fast: on a virtual machine a huge page that
// has not been used for a while costs more time than it saves. Those of hugeInput bytes are as fast in small pages, too: the
// collector gives memory back again and again, and a huge page comes back whole where the heap needs a part of it.
const (
	largeInput = 64 << 20
	hugeInput  = 512 << 20
	hugeHeap   = 128 << 20
)

// widen prepares the heap for the inputs: where they are large it is to have huge pages, as to get a page of 4 KiB from
// the system takes longer than to fill it. It comes before the heap is used: memory used before would be cleared here.
func widen(paths []string) {
	var size int64
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil {
			size += st.Size()
		}
		if size >= hugeInput {
			return
		}
	}
	if size >= largeInput {
		useHugePages()
	}
}

// useHugePages asks for huge pages in the place of memory that nothing has touched, and leaves it to the heap. A process
// whose memory is limited may not have as much to ask for.
func useHugePages() {
	for _, kind := range []int{syscall.RLIMIT_AS, syscall.RLIMIT_DATA} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(kind, &limit); err != nil || limit.Cur != math.MaxUint64 {
			return
		}
	}
	growth := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(growth)
	if syscall.Madvise(make([]byte, hugeHeap), syscall.MADV_HUGEPAGE) == nil {
		runtime.GC() // the memory is the heap's from now on
	}
}
