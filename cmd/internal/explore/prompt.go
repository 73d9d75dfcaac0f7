package explore

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// prompt is a line that is typed at the foot of the screen.
type prompt struct {
	textinput.Model
	m       *Browser
	before  string            // what it was at first
	changed func(text string) // with each key; nil: nothing
	entered func(text string) tea.Cmd
}

// ask has a line typed.
func (m *Browser) ask(what, text string, changed func(string), entered func(string) tea.Cmd) tea.Cmd {
	p := &prompt{Model: textinput.New(), m: m, before: text, changed: changed, entered: entered}
	plain(&p.Model)
	p.Prompt = what + ": "
	p.SetValue(text)
	p.SetWidth(max(m.width-len(p.Prompt)-1, 10))
	m.prompt = p
	return p.Focus()
}

func (p *prompt) press(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		p.m.prompt = nil
		if p.changed != nil {
			p.changed(p.before)
		}
		return nil
	case "enter":
		p.m.prompt = nil
		return p.entered(p.Value())
	}
	return p.update(msg)
}

func (p *prompt) update(msg tea.Msg) (cmd tea.Cmd) {
	before := p.Value()
	p.Model, cmd = p.Update(msg)
	if p.changed != nil && p.Value() != before {
		p.changed(p.Value())
	}
	return cmd
}
