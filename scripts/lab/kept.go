package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/scripts/lab/mock"
)

// kept is a recording that is read back.
type kept struct {
	folder   string // unpacked, removed by close
	sessions []string
	ids      bool // the log has ids of answers; without, requests are counted
	named    bool // answers are matched by the ids of messages

	// answered requests: of the main conversation and of subagents, and those for their summaries.
	main, agents, summaries, agentSummaries []mock.LoggedRequest
}

// openKept unpacks a recording into a temporary folder and sorts its requests by who asked.
func openKept(folder string) (*kept, error) {
	plainFolder, err := os.MkdirTemp("", "ctxkit-lab-")
	if err != nil {
		return nil, err
	}
	k := &kept{folder: plainFolder}
	if err := k.read(folder); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *kept) close() { _ = os.RemoveAll(k.folder) }

func (k *kept) read(folder string) error {
	if err := unzipped(folder, k.folder); err != nil {
		return err
	}
	log, err := readLog(filepath.Join(k.folder, "requests.ndjson"))
	if err != nil {
		return err
	}
	if len(log) == 0 {
		return errors.New("no request in requests.ndjson")
	}
	if err := leaveOutRequests(k.folder); err != nil {
		return err
	}
	if k.sessions, err = sessionsOf(k.folder); err != nil {
		return err
	}
	if len(k.sessions) == 0 {
		return errors.New("no session file")
	}
	k.ids = slices.ContainsFunc(log, func(l mock.LoggedRequest) bool { return l.Answer.ID != "" })
	k.named = k.ids && log[0].API == "anthropic"
	for i, l := range log {
		switch {
		case l.Answer.Error != "" || k.named && l.Answer.ID == "": // not answered
		case l.Who == "main":
			k.main = append(k.main, l)
		case l.Who == "subagent":
			k.agents = append(k.agents, l)
		case l.Who != "summary":
		case l.Of != "":
			k.agentSummaries = append(k.agentSummaries, l)
		case l.API == "chat" && i > 0 && log[i-1].Who == "summary": // Pi asks twice for one compaction
		default:
			k.summaries = append(k.summaries, l)
		}
	}
	return nil
}

// leaveOutRequests removes the lines on which the newest clients record their requests themselves: ctxkit shows those as
// they are, and what is judged here is the record that it rebuilds without them.
func leaveOutRequests(folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var kept []byte
		for line := range bytes.Lines(text) {
			if !bytes.HasPrefix(line, []byte(`{"type":"api-request`)) {
				kept = append(kept, line...)
			}
		}
		return os.WriteFile(path, kept, 0o600)
	})
}

// agentFiles lists the session files of subagents that Claude Code writes beside the session.
func (k *kept) agentFiles() []string {
	files, _ := filepath.Glob(filepath.Join(k.folder, "*", "subagents", "agent-*.jsonl"))
	deeper, _ := filepath.Glob(filepath.Join(k.folder, "*", "subagents", "*", "agent-*.jsonl"))
	return append(files, deeper...)
}

var (
	ownName   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f-]{27}\.jsonl$`)
	knownName = []string{"session.jsonl", "export.json", "ses_*.json", "rollout*.jsonl", "events.jsonl", "session-*.json*"}
)

// unzipped copies a folder and unpacks its .gz files.
func unzipped(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if short, ok := strings.CutSuffix(target, ".gz"); ok {
			reader, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			var out bytes.Buffer
			if _, err := out.ReadFrom(reader); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return os.WriteFile(short, out.Bytes(), 0o644)
		}
		return os.WriteFile(target, text, 0o644)
	})
}

func readLog(file string) ([]mock.LoggedRequest, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var log []mock.LoggedRequest
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var l mock.LoggedRequest
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Base(file), i+1, err)
		}
		log = append(log, l)
	}
	return log, nil
}

// sessionsOf lists the session files of a recording. Several of Claude Code's are in the order of their first line.
func sessionsOf(folder string) ([]string, error) {
	for _, pattern := range knownName {
		if found, _ := filepath.Glob(filepath.Join(folder, pattern)); len(found) > 0 {
			return found[:1], nil
		}
	}
	all, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return !ownName.MatchString(filepath.Base(f)) })
	if len(own) == 0 {
		return all[:min(len(all), 1)], nil
	}
	begins := map[string]string{}
	for _, file := range own {
		lines, err := linesOf(file)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if l.Timestamp != "" {
				begins[file] = l.Timestamp
				break
			}
		}
	}
	slices.SortStableFunc(own, func(a, b string) int { return strings.Compare(begins[a], begins[b]) })
	return own, nil
}

// line is a line of Claude Code's files, as far as requests are matched by it.
type line struct {
	Type, UUID, Timestamp string
	Message               struct{ ID string }
}

// linesOf reads the lines that are JSON.
func linesOf(file string) ([]line, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []line
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<30)
	for scanner.Scan() {
		var l line
		if json.Unmarshal(scanner.Bytes(), &l) == nil || l.Type != "" {
			lines = append(lines, l)
		}
	}
	return lines, scanner.Err()
}

// fileTexts are the text of a session file, and of the file with those beside it.
type fileTexts struct{ own, all string }

func textsOf(file string) (fileTexts, error) {
	own, err := os.ReadFile(file)
	if err != nil {
		return fileTexts{}, err
	}
	t := fileTexts{string(own), string(own)}
	folder := strings.TrimSuffix(file, filepath.Ext(file))
	if _, err := os.Stat(folder); err != nil {
		return t, nil
	}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		t.all += string(text)
		return err
	})
	return t, err
}
