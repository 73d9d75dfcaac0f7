package compare

import (
	"slices"
	"strings"
)

// Unpriced is a model without a price. The cost of its sessions is not known.
type Unpriced struct {
	Model    string `json:"model"`
	Sessions int    `json:"sessions"`
	First    Origin `json:"first"` // one of them
}

// UnpricedModels lists the models without a price, by name.
func UnpricedModels(sessions []ComparedSession) []Unpriced {
	var list []Unpriced
	for i := range sessions {
		s := &sessions[i]
		for _, model := range s.Unpriced {
			at := slices.IndexFunc(list, func(u Unpriced) bool { return u.Model == model })
			if at < 0 {
				at = len(list)
				list = append(list, Unpriced{model, 0, Origin{Session: s.Session, Agent: s.Agent, File: s.File}})
			}
			list[at].Sessions++
		}
	}
	slices.SortFunc(list, func(a, b Unpriced) int { return strings.Compare(a.Model, b.Model) })
	return list
}
