package replay

// regret has the timeline say what its policy threw away too early.
func (e *engine) regret(t *Timeline) error {
	uses, err := e.r.uses()
	if err != nil {
		return err
	}
	t.Regret, err = uses.Judge(e.view.Edits(), e.report, e.pol.Recorded)
	if err != nil {
		return err
	}
	n := len(t.Regret.Misses)
	t.Totals.Misses = &n
	return nil
}
