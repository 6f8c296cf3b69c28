package conformance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// patience is how long a step without a bound waits.
	patience = 15 * time.Second
	// early is the tolerance for lower bounds: the host sees events later than the client.
	early = 30 * time.Millisecond
)

var errNoHost = errors.New("the script cannot be played: there is no such host")

// perform executes one step. The lock is held, and released during waits. The error describes how the client differs
// from the script; for a script error, it begins with that.
func (p *play) perform(s *step) error {
	switch {
	case s.Do != "":
		if err := p.command(s.ID, s.Do, s.With); err != nil || s.Later {
			return err
		}
		return p.reply(s, s.ID)
	case s.Reply != "":
		return p.reply(s, s.Reply)
	case s.Event != "":
		return p.event(s)
	case s.NoEvent != "":
		return p.noEvent(s)
	case s.Comes != "":
		return p.comes(s)
	case s.Never != "":
		return p.never(s)
	case s.Count != "":
		return p.count(s)
	case s.Push != "", s.Raw != "":
		return p.say(s)
	case s.SleepMS > 0:
		p.awaitLocked(time.Now().Add(time.Duration(s.SleepMS)*time.Millisecond), func() bool { return false })
		return nil
	case s.PauseMS > 0:
		return p.stopFor(time.Duration(s.PauseMS) * time.Millisecond)
	case s.Named != "":
		return p.awaitName(s)
	case s.Closes != "":
		return p.closes(s)
	case s.CloseInput:
		return p.driver.input.Close()
	case s.Exit != nil:
		return p.exit(s)
	}
	return p.set(s)
}

// set carries out the steps without a wait.
func (p *play) set(s *step) error {
	switch {
	case s.On != "":
		f := &fault{step: s, left: 1}
		if s.Times != nil {
			if f.left = *s.Times; f.left == 0 {
				f.left = -1
			}
		}
		p.faults = append(p.faults, f)
		delete(p.named, s.As)
	case s.Off != "":
		p.faults = slices.DeleteFunc(p.faults, func(f *fault) bool { return s.Off == "*" || s.Off == f.On })
	case s.Cut != nil:
		for _, h := range p.hosts {
			if *s.Cut == 0 || *s.Cut == h.id {
				h.cutAll()
			}
		}
	case s.Host > uint64(len(p.hosts)), s.Lead > uint64(len(p.hosts)):
		return errNoHost
	case s.Host != 0:
		p.hosts[s.Host-1].set(s.Is)
	case s.Lead != 0:
		p.places.version++
		for shard := range p.leaders {
			if s.Shard == 0 || s.Shard == uint64(shard) {
				p.leaders[shard] = s.Lead
			}
		}
		p.model.detach(p)
	case s.Move != "":
		return p.move(s)
	case s.Lose != "":
		p.model.lose(s.Lose)
	case s.Mark != "":
		p.moments[s.Mark] = time.Now()
		p.since = time.Now()
	case s.Token != nil:
		p.script.Token = *s.Token
	}
	return nil
}

// bounds are the earliest and latest arrival times. If the bounds count from a future request, the step waits for the
// request first.
func (p *play) bounds(s *step) (low, high time.Time, err error) {
	from := time.Now()
	if s.After != "" {
		p.awaitLocked(from.Add(patience), func() bool { return !p.momentOf(s.After).IsZero() })
		if from = p.momentOf(s.After); from.IsZero() {
			return low, high, fmt.Errorf("%s does not come in time", s.After)
		}
		low = from.Add(time.Duration(s.NotBeforeMS)*time.Millisecond - early)
	}
	within := patience
	if s.WithinMS > 0 {
		within = time.Duration(s.WithinMS)*time.Millisecond + p.slack
	}
	return low, from.Add(within), nil
}

// momentOf is when a named request came, a command was sent, or a mark was set.
func (p *play) momentOf(name string) time.Time {
	if r := p.named[name]; r != nil {
		return r.at
	}
	if c := p.commands[name]; c != nil {
		return c.sent
	}
	return p.moments[name]
}

// inTime reports an arrival outside the bounds.
func inTime(what string, at, low, high time.Time) error {
	switch {
	case at.Before(low):
		return fmt.Errorf("%s comes %v too early", what, low.Sub(at).Round(time.Millisecond))
	case at.After(high):
		return fmt.Errorf("%s comes %v too late", what, at.Sub(high).Round(time.Millisecond))
	}
	return nil
}

func (p *play) reply(s *step, id string) error {
	c := p.commands[id]
	if c == nil {
		return fmt.Errorf("the script cannot be played: no command is called %s", id)
	}
	low, high, err := p.bounds(s)
	if err != nil {
		return err
	}
	if !p.awaitLocked(high, func() bool { return c.reply != nil || p.driver.ended }) || c.reply == nil {
		return fmt.Errorf("the driver does not reply to %s in time", id)
	}
	if err := inTime("the reply to "+id, c.at, low, high); s.After != "" && err != nil {
		return err
	}
	word, failed := c.reply["error"].(string)
	switch {
	case failed && len(s.Error) == 0:
		return fmt.Errorf("%s fails with %s: %v", id, word, c.reply["message"])
	case !failed && len(s.Error) > 0:
		return fmt.Errorf("%s succeeds with %s, want %s", id, show(c.reply), strings.Join(s.Error, " or "))
	case failed && !oneOf(word, s.Error):
		return fmt.Errorf("%s fails with %s: %v; want %s", id, word, c.reply["message"], strings.Join(s.Error, " or "))
	}
	if why := p.differs(s.Gives, c.reply); why != "" {
		return fmt.Errorf("the reply to %s: %s", id, why)
	}
	return nil
}

// synonyms are error words accepted in place of more exact words: distinctions not required from a client. A client in
// another language has different errors; programs need the class more than the word.
var synonyms = map[string][]string{
	"SESSION_EXPIRED": {"BAD_SESSION"}, "UNKNOWN_OUTCOME": {"UNAVAILABLE"}, "DELETED": {"LEASE_LOST", "ABORTED"},
	"RELEASED": {"ABORTED"}, "REPLACED": {"ABORTED"}, "RESIZED": {"ABORTED"},
}

func oneOf(word string, list []string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return w == word || slices.Contains(synonyms[w], word) })
}

// event waits for an unused event.
func (p *play) event(s *step) error {
	low, high, err := p.bounds(s)
	if err != nil {
		return err
	}
	var found *event
	var last string
	p.awaitLocked(high, func() bool {
		for _, e := range p.events {
			if e.used || e.values["event"] != s.Event {
				continue
			}
			if last = p.differs(s.Where, e.values); last == "" {
				found = e
				return true
			}
		}
		return false
	})
	if found == nil {
		return missing("the event "+s.Event, last)
	}
	found.used = true
	why, _ := found.values["why"].(string)
	if len(s.Error) > 0 && !oneOf(why, s.Error) {
		return fmt.Errorf("%s says %q, want %s", s.Event, why, strings.Join(s.Error, " or "))
	}
	return inTime("the event "+s.Event, found.at, low, high)
}

func missing(what, last string) error {
	if last != "" {
		return fmt.Errorf("%s does not come in time; the last one has %s", what, last)
	}
	return fmt.Errorf("%s does not come in time", what)
}

func (p *play) noEvent(s *step) error {
	var found *event
	p.awaitLocked(time.Now().Add(time.Duration(s.ForMS)*time.Millisecond), func() bool {
		for _, e := range p.events {
			if !e.used && e.values["event"] == s.NoEvent && p.differs(s.Where, e.values) == "" {
				found = e
			}
		}
		return found != nil
	})
	if found != nil {
		return fmt.Errorf("the event comes: %s", show(found.values))
	}
	return nil
}

// find returns the first unused request with a kind since the last mark.
func (p *play) find(s *step, kind string) (found *request, last string) {
	for _, r := range p.requests {
		if r.used || r.kind.Name != kind || r.at.Before(p.since) || s.At != 0 && r.conn.host.id != s.At {
			continue
		}
		if why := p.differs(s.Where, r.values); why != "" {
			last = why
			continue
		}
		return r, ""
	}
	return nil, last
}

func (p *play) comes(s *step) error {
	low, high, err := p.bounds(s)
	if err != nil {
		return err
	}
	var found *request
	var last string
	p.awaitLocked(high, func() bool {
		found, last = p.find(s, s.Comes)
		return found != nil
	})
	if found == nil {
		return missing(s.Comes, last)
	}
	found.used = true
	if s.As != "" {
		p.remember(s.As, found)
	}
	return inTime(s.Comes, found.at, low, high)
}

func (p *play) never(s *step) error {
	var found *request
	p.awaitLocked(time.Now().Add(time.Duration(s.ForMS)*time.Millisecond), func() bool {
		found, _ = p.find(s, s.Never)
		return found != nil
	})
	if found != nil {
		return fmt.Errorf("%s comes: %s", s.Never, show(found.values))
	}
	return nil
}

// count counts requests with a kind since the last mark, including used ones.
func (p *play) count(s *step) error {
	n := 0
	for _, r := range p.requests {
		if r.kind.Name == s.Count && !r.at.Before(p.since) && (s.At == 0 || r.conn.host.id == s.At) &&
			p.differs(s.Where, r.values) == "" {
			n++
		}
	}
	if n < s.Least || s.Most != nil && n > *s.Most {
		return fmt.Errorf("%s came %d times", s.Count, n)
	}
	return nil
}

// say pushes a message, or sends raw bytes.
func (p *play) say(s *step) error {
	r := p.named[s.Of+s.Over]
	if r == nil {
		return fmt.Errorf("the script cannot be played: nothing is called %q", s.Of+s.Over)
	}
	if r.conn.closed {
		return fmt.Errorf("the connection of %s is closed", s.Of+s.Over)
	}
	if s.Raw != "" {
		b, err := hex.DecodeString(strings.ReplaceAll(s.Raw, " ", ""))
		r.conn.raw(b)
		return err
	}
	id := uint64(0)
	if s.Of != "" {
		id = r.id
	}
	fields := p.expand(s.Fields).(object)
	if detail, ok := fields["detail"].(object); ok && detail["leader"] != nil {
		detail["status"] = fields["status"]
		fields["detail"] = p.refusal(detail)["detail"]
	}
	r.conn.push(theSchema().byName[s.Push], id, fields)
	return nil
}

// stopFor stops the driver's process for some time.
func (p *play) stopFor(d time.Duration) error {
	p.note("the driver's process is stopped")
	if err := p.driver.process.Pause(); err != nil {
		return err
	}
	p.awaitLocked(time.Now().Add(d), func() bool { return false })
	p.note("the driver's process goes on")
	return p.driver.process.Resume()
}

// awaitName waits until a request has got its name, however busy the machine is.
func (p *play) awaitName(s *step) error {
	low, high, err := p.bounds(s)
	if err != nil {
		return err
	}
	if !p.awaitLocked(high, func() bool { return p.named[s.Named] != nil }) {
		return fmt.Errorf("%s does not come in time", s.Named)
	}
	return inTime(s.Named, p.named[s.Named].at, low, high)
}

func (p *play) closes(s *step) error {
	r := p.named[s.Closes]
	if r == nil {
		return fmt.Errorf("the script cannot be played: nothing is called %q", s.Closes)
	}
	low, high, err := p.bounds(s)
	if err != nil {
		return err
	}
	if !p.awaitLocked(high, func() bool { return r.conn.closed }) {
		return fmt.Errorf("the connection of %s is not closed in time", s.Closes)
	}
	return inTime("the end of the connection of "+s.Closes, r.conn.closeAt, low, high)
}

func (p *play) exit(s *step) error {
	_, high, err := p.bounds(s)
	if err != nil {
		return err
	}
	p.mu.Unlock()
	code, err := p.driver.process.Wait(time.Until(high))
	p.mu.Lock()
	if err == nil && code != *s.Exit {
		err = fmt.Errorf("the driver exits with %d, want %d", code, *s.Exit)
	}
	return err
}
