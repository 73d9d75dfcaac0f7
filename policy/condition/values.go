package condition

import (
	"reflect"
	"strconv"
)

// Situation are the variables of a condition as they stand when it is looked at. The tags are the documentation, the hints
// of errors and what lint knows: min and max are the range in which a value usually is, needs is "edits" where the value
// follows from what the stage proposes to do.
type Situation struct {
	Tokens  float64 `expr:"tokens" unit:"tokens" min:"0" doc:"the prompt of the request to come, by the client's own estimate, system prompt and tools included"`
	Window  float64 `expr:"window" unit:"tokens" min:"0" doc:"the context window; 0: unknown"`
	Usable  float64 `expr:"usable" unit:"tokens" min:"0" doc:"window, less the model's largest output where that is known, of which no more than 20,000 are kept free"`
	Used    float64 `expr:"used" unit:"share" min:"0" max:"2" doc:"tokens as a share of usable: 0.8 is 80 %; 0 where the window is unknown"`
	Results float64 `expr:"results" unit:"results" min:"0" doc:"tool results in view that nothing has replaced"`

	Idle      float64 `expr:"idle" unit:"minutes" min:"0" doc:"since the end of the last response; infinite before the first one, 0 where the session has no times"`
	Cold      bool    `expr:"cold" doc:"nothing of the conversation is in the prompt cache any more: idle is longer than its entries live, or the model is another one; true before the first request and where nothing is cached"`
	TurnStart bool    `expr:"turn_start" doc:"the next request is the first of a turn: the user has just typed a prompt"`
	Turn      float64 `expr:"turn" unit:"turns" min:"0" doc:"prompts that the user has typed so far"`
	Request   float64 `expr:"request" unit:"requests" min:"1" doc:"number of the next request, from 1"`

	LastCompaction float64 `expr:"last_compaction" unit:"requests" min:"0" doc:"since the last compaction of the whole conversation, or since the start"`
	LastAct        float64 `expr:"last_act" unit:"requests" min:"0" doc:"since the stage last did anything, or since the start"`

	TokensFreed float64 `expr:"tokens_freed" unit:"tokens" doc:"that the prompt is smaller by once the stage has done what it proposes, by the client's own estimate" needs:"edits"`
	Payback     float64 `expr:"payback" unit:"requests" min:"0" doc:"until reading less from the cache has paid for writing it anew and for the stage's own requests; infinite where nothing is freed" needs:"edits"`
}

// Variable describes a variable of conditions.
type Variable struct {
	Name  string
	Truth bool   // it is true or false; else a number
	Unit  string // of a number
	Doc   string
	Edits bool // its value follows from what the stage proposes to do

	low, high *float64 // the range in which a number usually is
}

// Variables lists the variables in the order of the documentation.
func Variables() (list []Variable) {
	t := reflect.TypeFor[Situation]()
	for i := range t.NumField() {
		f := t.Field(i)
		list = append(list, Variable{
			Name: f.Tag.Get("expr"), Truth: f.Type.Kind() == reflect.Bool, Unit: f.Tag.Get("unit"), Doc: f.Tag.Get("doc"),
			Edits: f.Tag.Get("needs") == "edits", low: number(f.Tag.Get("min")), high: number(f.Tag.Get("max")),
		})
	}
	return list
}

func number(text string) *float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return &x
}
