package wire

import (
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Placeholders returns the number of placeholders in the body of the session's last main request. Each placeholder
// stands for words of the client that no line of the file records; characters is the total length of these words. v is
// the view at that request or at the end of the file. It returns an error if the session's file cannot be read.
func Placeholders(v *view.View) (count, characters int, err error) {
	conv := v.Conversation()
	if conv.Product != session.Product {
		return 0, 0, nil
	}
	add := func(w session.OwnWords) {
		for _, n := range []int{w.Before, w.Behind} {
			if n > 0 {
				count += 1
				characters += n
			}
		}
	}
	version := sender(v)
	last := len(conv.Messages)
	if n := len(conv.Requests); n > 0 {
		last = conv.Requests[n-1].Message
	}
	if w := session.OwnWordsOf(session.WordsOfContext, version); w.Before > 0 {
		add(session.OwnWords{Before: w.Before + w.Behind})
	}
	r := newOwnReminders(v, session.FrameOf(version))
	for id := range v.Items {
		m := v.Message(id)
		if m == nil {
			if made := v.Synthetic(id); made != nil && made.Attached {
				for _, c := range made.Contents {
					if c.Ref == nil && c.Text == "" {
						add(session.OwnWords{Before: 4 * c.Tokens})
					}
				}
			}
			continue
		}
		if int(id) > last {
			continue
		}
		for _, kind := range r.follow(v, id) {
			add(session.OwnWordsOf(kind, version))
		}
		if m.Attachment == "" && m.Class != session.ClassMeta {
			continue
		}
		for b := range m.Blocks {
			bl := &m.Blocks[b]
			switch {
			case v.Replacement(policy.BlockOf(id, b)) != nil || bl.Text.UTF16 == 0:
			case bl.Kind == jsonl.KindAttachment:
				w, err := conv.WordsAround(int(id), b)
				if err != nil {
					return 0, 0, err
				}
				add(w)
			case bl.Kind == jsonl.KindText:
				text, err := conv.Text(int(id), b)
				if err != nil {
					return 0, 0, err
				}
				if strings.HasPrefix(text, notificationHead) && m.Preamble == nil {
					add(session.OwnWordsOf(session.WordsOfNotification, version))
				}
			}
		}
	}
	return count, characters, nil
}
