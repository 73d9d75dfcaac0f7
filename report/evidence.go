package report

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// hypothesis is how unconfirmed evidence is shown.
const hypothesis = "unconfirmed"

// ShortTruth is what stands behind a policy, in a word or two.
func ShortTruth(t policy.Truth) string { return either(t.Hypothesis(), hypothesis, string(t)) }

// ShortScore is a score for a narrow column: decided/free/recorded, and a star where windows are fitted.
func ShortScore(s *policy.Score) string {
	star := ""
	if s != nil && s.Recorded == 0 && s.Fitted != nil {
		s = s.Fitted
		star = "*"
	}
	if s == nil || s.Recorded == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d/%d%s", s.Decided, s.Free, s.Recorded, star)
}

// ScoreText is a score in words; "" where nothing was scored.
func ScoreText(s *policy.Score) string {
	if s == nil {
		return ""
	}
	if s.Recorded+s.Alarms == 0 && s.Fitted == nil && s.Prunes == nil {
		return phrase("none: no compaction in %v is known to be automatic", count(s.Conversations, "recorded conversation"))
	}
	text := ""
	if s.Recorded > 0 {
		text = phrase("decides %v of %v, %v in a free replay; %v in %v", s.Decided, count(s.Recorded, "recorded compaction"), s.Free,
			count(s.Alarms, "false alarm"), count(s.Requests, "request"))
	}
	if text == "" && s.Alarms > 0 {
		text = phrase("no recorded compaction; %v in %v", count(s.Alarms, "false alarm"), count(s.Requests, "request"))
	}
	if p := s.Prunes; p != nil {
		text = joined("; ", text, phrase("clears the same results at %v of %v, and %v more", p.Same, count(p.Recorded, "recorded prune"), either[any](p.Alarms == 0, "none", p.Alarms)))
	}
	if f := s.Fitted; f != nil {
		text = joined("; ", text, "in windows fitted to the recorded sessions "+ScoreText(f))
	}
	return text
}

// markedName is a policy's name, with a mark where nothing confirms the policy.
func markedName(name string, t policy.Truth) string {
	return name + either(t.Hypothesis(), " ("+hypothesis+")", "")
}

// hypothesisText says that nothing confirms a policy, and how it does where it was tried.
func hypothesisText(s *policy.Score) string {
	text := "unconfirmed: described in one analysis"
	if s == nil || s.Recorded == 0 {
		return text + ", with nothing to check it against"
	}
	return text + phrase("; of %v it decides %v", count(s.Recorded, "recorded compaction"), s.Decided)
}

// TruthText says what stands behind a policy; "" where the policy does not say.
func TruthText(t policy.Truth, s *policy.Score) string {
	if t == policy.TruthOwn {
		return string(t) + ": no product's as released"
	}
	return either(t.Hypothesis(), hypothesisText(s), string(t)) + phraseIf(t == policy.TruthDocumented, ", not tried on recorded compactions")
}

// useNotes say what the names of policies meant, and which of them are unconfirmed.
func useNotes(p *page, uses ...policy.Use) {
	for i := range uses {
		p.note(none, RanText(&uses[i], true))
	}
	for i := range uses {
		p.note(yellow, doubtText(&uses[i], nil))
	}
}

// mostReleases is how many releases of a product are named where not all are.
const mostReleases = 3

// RanText says which releases the bare name of a product meant, all or some of them, and that one is newer than any that
// was read; "" where the name is a policy's own.
func RanText(u *policy.Use, all bool) string {
	by := ", by the client and date of the session"
	if len(u.Ran) > 0 && u.Ran[0].Older > 0 && u.Sessions() == 1 {
		by = ", the oldest known release: the session is older"
	}
	return joined("; ", phraseIf(len(u.Ran) > 0, "%v was taken as %v%v", u.Name, releasesText(u, all), by), u.Newer)
}

// releasesText names the policies that a name meant, all or some of them, with their numbers of sessions.
func releasesText(u *policy.Use, all bool) string {
	var ran []string
	sessions := u.Sessions()
	for i, r := range u.Ran {
		text := r.Policy + phraseIf(sessions > 1, " in %v", either(i == 0, count(r.Sessions, "session"), thousands(r.Sessions)))
		ran = append(ran, text+phraseIf(r.Older > 0 && sessions > 1, " (%v older than any release known here)", r.Older))
	}
	if n := len(ran) - mostReleases; !all && n > 1 {
		ran = append(ran[:mostReleases], "and "+count(n, "more release"))
	}
	return strings.Join(ran, ", ")
}

// doubtText says that a policy is unconfirmed, and by which figures it is the best one all the same; "" for others.
func doubtText(u *policy.Use, leads []string) string {
	if !u.Hypothesis() {
		return ""
	}
	led := ""
	if n := len(leads); n > 0 {
		led = " leads in " + joined(" and ", strings.Join(leads[:n-1], ", "), leads[n-1]) + ", and"
	}
	return u.Name + led + " is " + hypothesisText(u.Score)
}

// checks are what policies were checked against.
func checks() map[policy.Truth]string {
	return map[policy.Truth]string{
		policy.TruthRecorded: "against recordings", policy.TruthOracle: "against the product's code", policy.TruthDocumented: "against what the product documents",
		policy.TruthDescribed: hypothesis, policy.TruthOwn: "not checked: no product has it as released",
	}
}

// evidenceText says in short how policies were checked.
func evidenceText(uses []policy.Use) string {
	var list []string
	for _, u := range uses {
		if u.Name == "recorded" || len(u.Truths) == 0 {
			continue
		}
		decided := ""
		if s := u.Score; s != nil && s.Recorded > 0 {
			decided = phrase(" (%v of %v at the exact request)", s.Decided, count(s.Recorded, "compaction"))
		}
		var how []string
		for _, t := range u.Truths {
			how = append(how, checks()[t])
		}
		list = append(list, u.Name+" "+strings.Join(how, " and ")+decided)
	}
	return before("How each policy was checked: ", strings.Join(list, ", "))
}
