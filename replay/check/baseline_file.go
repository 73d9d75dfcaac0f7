package check

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// baselineFile is a baseline as it is written: what most replays of a session have in common stands once.
type baselineFile struct {
	Baseline
	Common map[string]map[string]exact.Decimal `json:"common"` // figures, by session (and agent)
}

// byName are the values of the figures.
func byName(v compare.Values) map[string]exact.Decimal {
	figures := map[string]exact.Decimal{}
	for i, name := range compare.Names() {
		figures[name] = v[i]
	}
	return figures
}

// unfold is the baseline, each of its sessions with all of its figures.
func (f *baselineFile) unfold() *Baseline {
	for i := range f.Cases {
		for k := range f.Cases[i].Sessions {
			s := &f.Cases[i].Sessions[k]
			figures := maps.Clone(f.Common[inputKey(s.Session, s.Agent)])
			if figures == nil {
				figures = map[string]exact.Decimal{}
			}
			maps.Copy(figures, s.Figures)
			s.Figures = figures
		}
	}
	return &f.Baseline
}

// common finds the figures that most replays of each session have, two at least.
func (b *Baseline) common() map[string]map[string]exact.Decimal {
	votes := map[string]map[string]map[exact.Decimal]int{}
	for _, c := range b.Cases {
		for i := range c.Sessions {
			s := &c.Sessions[i]
			key := inputKey(s.Session, s.Agent)
			if votes[key] == nil {
				votes[key] = map[string]map[exact.Decimal]int{}
			}
			for name, v := range s.Figures {
				if votes[key][name] == nil {
					votes[key][name] = map[exact.Decimal]int{}
				}
				votes[key][name][v]++
			}
		}
	}
	common := map[string]map[string]exact.Decimal{}
	for key, figures := range votes {
		for name, values := range figures {
			var most exact.Decimal
			n := 1
			for v, count := range values { // of as many, the lowest: no order of the map shows
				if count > n || count == n && n > 1 && v.Cmp(most) < 0 {
					most, n = v, count
				}
			}
			if n > 1 {
				if common[key] == nil {
					common[key] = map[string]exact.Decimal{}
				}
				common[key][name] = most
			}
		}
	}
	return common
}

// Write writes the baseline as JSON, a key of a policy and a session of a case a line.
func (b *Baseline) Write(w io.Writer) error {
	common := b.common()
	o := &outline{}
	o.open("{")
	o.key("schema", b.Schema)
	o.key("tool", b.Tool)
	o.key("counted", b.Counted)
	o.key("figures", b.Figures)
	o.open(`"inputs": {`)
	for _, name := range slices.Sorted(maps.Keys(b.Inputs)) {
		o.key(name, b.Inputs[name])
	}
	o.close("}")
	o.open(`"policies": {`)
	for _, hash := range slices.Sorted(maps.Keys(b.Policies)) {
		plan := b.Policies[hash]
		o.open(text(hash) + ": {")
		o.key("name", plan.Name)
		o.open(`"settings": {`)
		for _, key := range slices.Sorted(maps.Keys(plan.Settings)) {
			o.key(key, plan.Settings[key])
		}
		o.close("}")
		o.close("}")
	}
	o.close("}")
	o.open(`"common": {`)
	for _, name := range slices.Sorted(maps.Keys(common)) {
		o.key(name, ordered(b.Figures, common[name]))
	}
	o.close("}")
	o.open(`"cases": [`)
	for i := range b.Cases {
		c := &b.Cases[i]
		o.open("{")
		o.key("name", c.Name)
		o.key("policy", c.Policy)
		if len(c.Files) > 0 {
			o.key("files", c.Files)
		}
		o.open(`"sessions": [`)
		for _, s := range c.Sessions {
			o.item(s.line(b.Figures, common[inputKey(s.Session, s.Agent)]))
		}
		o.close("]")
		o.close("}")
	}
	o.close("]")
	o.close("}")
	o.buf.WriteByte('\n')
	_, err := w.Write(o.buf.Bytes())
	return err
}

// line is a session without the figures that are as in common.
func (s BaselineSession) line(names []string, common map[string]exact.Decimal) string {
	own := maps.Clone(s.Figures)
	maps.DeleteFunc(own, func(name string, v exact.Decimal) bool {
		c, ok := common[name]
		return ok && c.Known == v.Known && c.Cmp(v) == 0
	})
	fields := fields{{"session", s.Session}}
	if s.Agent != "" {
		fields = append(fields, field{"agent", s.Agent})
	}
	fields = append(fields, field{"policy", s.Policy})
	if len(own) > 0 {
		fields = append(fields, field{"figures", ordered(names, own)})
	}
	if len(s.Events) > 0 {
		fields = append(fields, field{"events", s.Events})
	}
	if s.More != "" {
		fields = append(fields, field{"more", s.More})
	}
	return text(fields)
}

// ordered are figures in the order of their names.
func ordered(names []string, figures map[string]exact.Decimal) (list fields) {
	for _, name := range names {
		if v, ok := figures[name]; ok {
			list = append(list, field{name, v})
		}
	}
	return list
}

// fields are the keys and values of an object, in order.
type fields []field

type field struct {
	key   string
	value any
}

// MarshalJSON writes the object on one line.
func (f fields) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(f))
	for i, one := range f {
		parts[i] = text(one.key) + ":" + text(one.value)
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// text is JSON on one line. What a baseline holds can be written.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// outline writes nested objects and lists, an element a line.
type outline struct {
	buf   bytes.Buffer
	depth int
	begun bool // nothing stands in the innermost one yet
}

func (o *outline) item(s string) {
	if o.depth > 0 {
		if !o.begun {
			o.buf.WriteByte(',')
		}
		o.buf.WriteByte('\n')
	}
	o.buf.WriteString(strings.Repeat(" ", o.depth) + s)
	o.begun = false
}

func (o *outline) key(name string, value any) { o.item(text(name) + ": " + text(value)) }

func (o *outline) open(s string) {
	o.item(s)
	o.depth++
	o.begun = true
}

func (o *outline) close(s string) {
	o.depth--
	if !o.begun {
		o.buf.WriteString("\n" + strings.Repeat(" ", o.depth))
	}
	o.buf.WriteString(s)
	o.begun = false
}
