package report

import (
	"io"
	"testing"
	"time"
)

func TestResume(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for name, list := range sampled[map[string][]ResumeItem]("resume") { // ahead: a clock before the session
		inFormats(t, "resume", "resume-"+name, ListFormats, func(w io.Writer, f Format) error { return Resume(w, list, Layout{Now: now, Format: f}) })
	}
}
