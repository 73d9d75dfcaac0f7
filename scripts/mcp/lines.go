package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lockedWriter writes one message at a time.
type lockedWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(b)
}

// validLines passes the lines of in that are JSON-RPC messages. Any other line is answered on out with an error, since
// the SDK ends the session at the first one.
func validLines(in io.Reader, out io.Writer) io.ReadCloser {
	from, to := io.Pipe()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				if _, wrong := jsonrpc.DecodeMessage(line); wrong == nil && json.Valid(line) { // one message, with nothing behind it
					_, _ = to.Write(line) // fails only where the session has ended
				} else {
					fmt.Fprintln(out, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC 2.0 message on one line"}}`)
				}
			}
			if err != nil {
				to.CloseWithError(err)
				return
			}
		}
	}()
	return from
}
