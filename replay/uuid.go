package replay

import "github.com/ctxkit/ctxkit/jsonl/session"

// UUID is the uuid of the message that answers a request. The text is made where it is asked for.
type UUID struct {
	message *session.Message // nil: it has text
	text    string
}

// UUIDOf is the uuid of a message.
func UUIDOf(m *session.Message) UUID { return UUID{message: m} }

// NewUUID is a uuid with a text.
func NewUUID(text string) UUID { return UUID{text: text} }

func (u UUID) String() string {
	if u.message != nil {
		return u.message.UUID()
	}
	return u.text
}

// IsZero reports whether there is none.
func (u UUID) IsZero() bool { return u.String() == "" }

// Equal reports whether both have the same text.
func (u UUID) Equal(o UUID) bool { return u.String() == o.String() }

// MarshalText implements encoding.TextMarshaler.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *UUID) UnmarshalText(text []byte) error {
	*u = UUID{text: string(text)}
	return nil
}
