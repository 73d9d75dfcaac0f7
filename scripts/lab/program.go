package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
)

// program is ctxkit, by its path.
type program string

// replayed is the part of ctxkit replay -f json that is compared.
type replayed struct {
	Totals struct{ Requests, Compactions int }
	Events []struct {
		Request int
		Kind    string
		Stage   string
		Targets []struct {
			Call string `json:"tool_use_id"`
		}
	}
	Requests []struct {
		N        int
		UUID     string
		Payload  int `json:"payload_tokens"`
		Recorded *struct {
			Input      int
			CacheWrite int `json:"cache_write"`
			CacheRead  int `json:"cache_read"`
			Output     int
		}
	}
}

// before are the numbers of the requests before which there is an event of a kind.
func (r replayed) before(kind string) []int {
	var at []int
	for _, e := range r.Events {
		if e.Kind == kind {
			at = append(at, e.Request)
		}
	}
	return at
}

// body is the part of a request body that is compared.
type body struct {
	Model     string
	MaxTokens int `json:"max_tokens"`
	Messages  json.RawMessage
}

// replay replays a session under a policy.
func (p program) replay(file, policy string, flags ...string) (replayed, error) {
	var said replayed
	out, err := p.run(append([]string{"replay", file, "-p", policy, "-f", "json"}, flags...)...)
	if err != nil {
		return said, err
	}
	return said, json.Unmarshal(out, &said)
}

// payload is a request of a session under a policy; flags say which request.
func (p program) payload(file, policy string, flags ...string) (body, error) {
	var b body
	out, err := p.run(append([]string{"view", file, "--as", "payload", "-p", policy, "-f", "json"}, flags...)...)
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal(out, &b)
}

func (p program) run(args ...string) ([]byte, error) {
	cmd := exec.Command(string(p), append(args, "-q", "--no-cache")...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, tail(failure.String()))
	}
	return out, nil
}
