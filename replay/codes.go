package replay

import "github.com/ctxkit/ctxkit/jsonl/session"

// The codes of warnings that a caller may have advice for.
const (
	CodeWindowExceeded session.Code = "window-exceeded" // the recorded context does not fit the assumed window
	CodeUsageUnfit     session.Code = "usage-unfit"     // the recorded usage is less than the content weighs
	CodeModelUnknown   session.Code = "model-unknown"   // the model of the options is not in the table
	CodeNoPrice        session.Code = "no-price"        // a model has no price
)
