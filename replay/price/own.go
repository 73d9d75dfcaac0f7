package price

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Own is what a user states about a model. A field that is left out has the value of the table.
type Own struct {
	strict.Position `json:"-"`

	ID           string `yaml:"-"`
	Window       int    `yaml:"window" min:"1" unit:"tokens"`
	MaxInput     int    `yaml:"max_input" min:"1" unit:"tokens"`
	MaxOutput    int    `yaml:"max_output" min:"1" unit:"tokens"`
	Cache        string `yaml:"cache" enum:"automatic,breakpoints,none"`
	MinCacheable int    `yaml:"min_cacheable" min:"1" unit:"tokens"`
	Input        *Price `yaml:"input" none:"-"` // this and the next four: US dollars per million tokens; nil: left out
	CacheWrite5m *Price `yaml:"cache_write_5m" none:"-"`
	CacheWrite1h *Price `yaml:"cache_write_1h" none:"-"`
	CacheRead    *Price `yaml:"cache_read" none:"-"`
	Output       *Price `yaml:"output" none:"-"`
}

// OwnModels is what a user states about several models, in the order of the user's file.
type OwnModels []Own

// ReadNode reads {model: {window: 256k, …}}. The strict decoder calls it and collects the errors.
func (o *OwnModels) ReadNode(r *strict.Decoder, n *strict.Node, key string) {
	for _, kv := range r.Map(n, key, "write {MODEL: {window: 256k, max_output: 32k, cache: automatic}}") {
		own := Own{ID: Normalize(kv.Key), Position: strict.At(r.File, kv.At)}
		switch before := len(r.Errors); {
		case own.ID == "":
			r.Report(kv.At, key+": a model without a name", "write the name that sessions record")
		case slices.ContainsFunc(*o, func(other Own) bool { return other.ID == own.ID }):
			r.Report(kv.At, key+": the model "+strict.Quote(kv.Key)+" is listed twice", "keep one of them")
		case !r.Struct(kv.Value, &own, key+"."+kv.Key):
		case (own.Input == nil) != (own.Output == nil) || own.Input == nil && (own.CacheRead != nil || own.CacheWrite5m != nil || own.CacheWrite1h != nil):
			r.Report(kv.Value, key+"."+kv.Key+": only some of its prices", "give input and output, or no price")
		case len(r.Errors) == before:
			*o = append(*o, own)
		}
	}
}

// ReadOwn decodes what a user states about models, in YAML: {model: {window: 256k, …}}. name is the name of the file in
// error messages.
func ReadOwn(name string, data []byte) (OwnModels, error) {
	root, errs := strict.Parse(name, data, strict.Document{Name: "list of models", Example: "acme-1: {window: 256k}", Start: "write {MODEL: {window: 256k}}"})
	r := &strict.Decoder{File: name, Errors: errs}
	var own OwnModels
	if root != nil {
		own.ReadNode(r, root, "models")
	}
	return own, r.Errors.Err()
}

// stated is the source and the confidence of what a user says.
const stated = "stated by the user"

// With returns the table t changed by what a user states about models. A model whose price is neither in own nor in t
// has no price; everything else that the user states about it applies. With returns an error for an unknown model
// without a window, and for prices with too many digits.
func (t *Table) With(own OwnModels) (*Table, error) {
	if len(own) == 0 {
		return t, nil
	}
	out := *t
	out.Models, out.unpriced = slices.Clone(t.Models), slices.Clone(t.unpriced)
	for _, o := range own {
		m, like, _ := out.FindLike(o.ID)
		if like {
			m = Model{}
		}
		if m.ID == "" && o.Window == 0 {
			return nil, strict.Errors{{Position: o.Position, Msg: "the model " + strict.Quote(o.ID) + " is not in the table", Hint: "give its window"}}
		}
		_, priced := out.Find(o.ID)
		m.ID = o.ID
		m.Source = cmp.Or(m.Source, stated)
		m.Confidence = cmp.Or(m.Confidence, stated)
		for _, x := range []struct {
			to   *int
			from int
		}{{&m.Context, o.Window}, {&m.MaxInput, o.MaxInput}, {&m.MaxOutput, o.MaxOutput}, {&m.MinCacheable, o.MinCacheable}} {
			if x.from > 0 {
				*x.to = x.from
			}
		}
		if o.Window > 0 {
			m.Before = nil
			m.Own = true
		}
		if o.Window > 0 && o.MaxInput == 0 {
			m.MaxInput = 0
		}
		if o.Cache != "" {
			m.Cache = o.Cache
		}
		if o.Input != nil {
			m.Tier = nil
			m.Fast = nil
			m.Earlier = nil
			m.Source = stated
			m.Confidence = stated
			m.SetDefaults()
			for i, p := range [...]*Price{o.Input, o.CacheWrite5m, o.CacheWrite1h, o.CacheRead, o.Output} {
				if p != nil {
					*m.each()[i] = *p
				}
			}
			if err := m.Rates.CheckFields(); err != nil {
				return nil, err
			}
			priced = true
		}
		of := &out.unpriced
		if priced {
			of = &out.Models
		}
		*of = append(slices.DeleteFunc(*of, func(other Model) bool { return other.ID == m.ID }), m)
	}
	out.order()
	return &out, nil
}
