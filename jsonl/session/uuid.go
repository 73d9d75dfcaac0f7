package session

// UUID is the uuid of a line, exactly as recorded. The zero value is "".
type UUID struct {
	bytes [16]byte
	short bool   // it is bytes, written as most are
	text  string // else
}

// NewUUID returns the uuid of a text.
func NewUUID(text string) UUID {
	if id, ok := parseUUID(text); ok {
		return ShortUUID(id)
	}
	return UUID{text: text}
}

// ShortUUID returns the uuid of 16 bytes, in lower-case digits and four hyphens.
func ShortUUID(bytes [16]byte) UUID { return UUID{bytes: bytes, short: true} }

// Short returns the bytes of a uuid; ok is false for one that is written otherwise.
func (u UUID) Short() (bytes [16]byte, ok bool) { return u.bytes, u.short }

func (u UUID) String() string {
	if !u.short {
		return u.text
	}
	id := uuid(u.bytes)
	return id.String()
}

// MarshalText implements encoding.TextMarshaler.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *UUID) UnmarshalText(text []byte) error {
	*u = NewUUID(string(text))
	return nil
}

// FirstUUID is UUID without making its text.
func (m *Message) FirstUUID() UUID {
	if m.origin == nil {
		return UUID{}
	}
	if id := m.origin.uuids.list.at(m.uuid); !id.other() {
		return ShortUUID(*id)
	}
	return NewUUID(m.UUID())
}
