// Package pi has the stages and policies of Pi.
package pi

import "github.com/ctxkit/ctxkit/policy"

// Family is Pi.
func Family() policy.Family {
	return policy.Family{
		Name: "pi", Title: "Pi", Stages: []policy.Definition{definePiCompaction()},
		Recorder: &policy.Recorder{Product: product, Version: clientVersion},
	}
}

// product is Pi's name, a bare policy name and that of its sessions.
const product = "pi"

// clientVersion is what sessions show of every version: a compaction sends its summary and recorded entries alone.
func clientVersion(string) policy.ClientVersion { return policy.ClientVersion{RecordsAttached: true} }
