package rollout

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// A script is a story of one rollout. Each line is a command or an expectation; instances are called NAME.LOCATION.
//
//	spec sas man:5000 vla:5000 gates=man:errors   a rollout: locations with delays, and settings
//	at 4900                                       executes everything due until then, and sets that time
//	join a.sas / leader a.sas / follower a.sas / leave a.sas
//	reach a.sas, fail a.sas CODE ATTEMPTS, update a.sas, ask a.sas [CODE ATTEMPTS], report a.sas CURRENT GENERATION
//	publish, offer SOURCE TICKET, decline SOURCE TICKET, source S, unsource S
//	gate man errors 1 passed
//	act VERB [LOCATIONS] [seq=1] [fast]
//	alter ...                                     like spec
//	target man 1, target man none                 expects
//	phase blocked, why man no-leaders, why not man delay, generation man 3, reached man, unreached man
//	given 2                                       expects the number of targets assigned since the last such line
//	refused STATUS                                expects that the previous command was refused
//	next man 5000                                 expects an instance's answer in addition to the target
type script struct {
	t *testing.T
	*Rollout
	now       uint64
	revision  uint64
	out       Effects
	instances map[string]*Instance
	lastID    uint64
	answer    Answer
	events    []Event
	line      string
	checked   bool // whether the answer has been expected to be a refusal
}

func play(t *testing.T, text string) *script {
	t.Helper()
	s := &script{t: t, instances: make(map[string]*Instance), checked: true}
	for k, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		if words := strings.Fields(line); len(words) > 0 {
			s.line = fmt.Sprintf("line %d: %s", k, line)
			s.do(words)
		}
	}
	s.accepted()
	return s
}

func (s *script) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s: %s", s.line, fmt.Sprintf(format, args...))
}

// accepted fails if the last command was refused, and no line expected it.
func (s *script) accepted() {
	s.t.Helper()
	if !s.checked && s.answer.Status != protocol.StatusSuccess {
		s.fatalf("the command before is refused: %v %s", s.answer.Status, s.answer.Text)
	}
	s.checked = true
}

// at is the next command's environment.
func (s *script) at() At {
	s.events = append(s.events, s.out.Events...)
	s.out.Reset()
	s.revision++
	return At{Now: s.now, Revision: s.revision, Out: &s.out}
}

func (s *script) do(words []string) {
	s.t.Helper()
	verb, rest := words[0], words[1:]
	if verb != "refused" {
		s.accepted()
	}
	if s.expect(verb, rest) {
		return
	}
	s.answer, s.checked = Answer{}, false
	switch verb {
	case "spec":
		s.Rollout, s.answer = New(s.at(), parseSpec(rest), kind.ChangeInfo{Author: "op", Reason: "script"})
	case "alter":
		s.answer = s.Alter(s.at(), parseSpec(rest), kind.ChangeInfo{Author: "op", Reason: "script"})
	case "at":
		s.until(number(rest[0]))
	case "publish":
		s.answer = s.Publish(s.at(), kind.Publication{Payload: []byte("payload"), Label: "v"})
	case "source":
		s.answer = s.addSource(s.at(), Source{ID: number(rest[0]), Name: "source" + rest[0]})
	case "unsource":
		s.answer = s.removeSource(s.at(), number(rest[0]))
	case "offer":
		s.answer = s.Offer(s.at(), number(rest[0]), number(rest[1]), kind.Publication{})
	case "decline":
		s.answer = s.decline(s.at(), number(rest[0]), number(rest[1]), "unavailable")
	case "gate":
		v := ofWord(kind.Results, rest[3])
		s.answer = s.Judge(s.at(), kind.GateReport{
			Location: rest[0], Gate: rest[1], Seq: number(rest[2]), Verdict: kind.Verdict{Result: v}, By: "checker",
		})
	case "act":
		s.answer = s.Act(s.at(), parseAct(rest))
	default:
		s.instanceCommand(verb, rest)
	}
}

func (s *script) instanceCommand(verb string, rest []string) {
	s.t.Helper()
	name := rest[0]
	_, location, _ := strings.Cut(name, ".")
	i := s.instances[name]
	if i == nil {
		s.lastID++
		i = &Instance{ID: s.lastID}
		s.instances[name] = i
	}
	report := Report{Current: i.Current, Generation: i.Generation, Status: i.Status, Code: i.Code, Attempts: i.Attempts}
	if l := s.Find(location); l != nil && l.Target() != nil && verb != "ask" {
		report.Generation = l.Target().Generation
	}
	if len(rest) == 3 && verb != "report" {
		report.Status, report.Attempts = kind.Failed, number(rest[2])
		if report.Code = rest[1]; report.Code == "-" {
			report.Code = ""
		}
	}
	switch verb {
	case "join":
		s.answer = s.Join(s.at(), i, name, location, "")
	case "leave":
		s.answer = s.Leave(s.at(), i)
	case "leader":
		if i.Name == "" {
			s.Join(s.at(), i, name, location, "")
		}
		s.answer = s.SetRole(s.at(), i, Leader)
	case "follower":
		s.answer = s.SetRole(s.at(), i, Follower)
	case "ask":
		s.answer, _ = s.Ask(s.at(), i, report)
	case "reach":
		report = Report{Current: s.Find(location).present(), Generation: report.Generation}
		s.answer = s.Report(s.at(), i, report)
	case "update":
		report.Status, report.Code, report.Attempts = kind.Updating, "", 1
		s.answer = s.Report(s.at(), i, report)
	case "fail":
		s.answer = s.Report(s.at(), i, report)
	case "report":
		s.answer = s.Report(s.at(), i, Report{Current: number(rest[1]), Generation: number(rest[2])})
	default:
		s.fatalf("no such command")
	}
}

func (s *script) expect(verb string, rest []string) bool {
	s.t.Helper()
	switch verb {
	case "target", "generation", "reached", "unreached", "next":
		s.expectLocation(verb, rest)
	case "phase":
		if got := s.Phase(s.now).String(); got != strings.Join(rest, " ") {
			s.fatalf("the phase is %s: %v", got, s.Why(s.now, s.now, s.all))
		}
	case "why":
		want := rest[0] != "not"
		rest = rest[len(rest)-2:]
		if got := s.has(rest[0], rest[1]); got != want {
			s.fatalf("the reasons are %v", s.Why(s.now, s.now, s.all))
		}
	case "given":
		s.at()
		n := 0
		for _, e := range s.events {
			if e.Kind == eventAssigned {
				n++
			}
		}
		s.events = nil
		if n != int(number(rest[0])) {
			s.fatalf("%d targets were assigned", n)
		}
	case "asked":
		if got := s.ticket; fmt.Sprint(got.Source, " ", got.Number) != strings.Join(rest, " ") {
			s.fatalf("the ticket is %+v", got)
		}
	case "refused":
		s.checked = true
		if got := s.answer.Status.String(); got != rest[0] {
			s.fatalf("the command before was answered %s %s", got, s.answer.Text)
		}
	default:
		return false
	}
	return true
}

func (s *script) expectLocation(verb string, rest []string) {
	s.t.Helper()
	l := s.Find(rest[0])
	t := l.Target()
	got, want := "none", ""
	switch verb {
	case "reached", "unreached":
		if (t != nil && t.Reached != 0) != (verb == "reached") {
			s.fatalf("the target is %+v", t)
		}
		return
	case "next":
		got, want = fmt.Sprint(s.targetOf(l, s.now).NextIn), rest[1]
	case "generation":
		got, want = fmt.Sprint(l.generation()), rest[1]
	default:
		want = rest[1]
		if t != nil {
			got = fmt.Sprint(t.Seq)
		}
	}
	if got != want {
		s.fatalf("it is %s: %v", got, s.Why(s.now, s.now, s.all))
	}
}

func (s *script) has(location string, code string) bool {
	for _, re := range s.Why(s.now, s.now, s.all) {
		if re.Code == code && (re.Location == location || location == "-") {
			return true
		}
	}
	return false
}

// all yields a location's instances by name.
func (s *script) all(l *Location) iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.instances)) {
			if i := s.instances[name]; i.live && i.location == l.ID && !yield(i) {
				return
			}
		}
	}
}

func (l *Location) generation() uint64 {
	if t := l.Target(); t != nil {
		return t.Generation
	}
	return 0
}

// until executes everything due until a time.
func (s *script) until(now uint64) {
	s.t.Helper()
	for s.Rollout != nil {
		due, ok := s.NextDue()
		if !ok || due > now {
			break
		}
		if due <= s.now {
			s.fatalf("%d is due at %d", due, s.now)
		}
		s.now = due
		s.Due(s.at())
	}
	s.now = now
}

func number(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// parseSpec reads locations with delays, and settings.
func parseSpec(words []string) kind.Spec {
	s := kind.Spec{}.WithDefaults()
	s.Reelect.Codes = []string{"timestamp-out-of-range"}
	for _, word := range words {
		key, value, setting := strings.Cut(word, "=")
		if !setting {
			name, delay, _ := strings.Cut(word, ":")
			ls := kind.Location{Name: name}
			if delay != "" {
				ls.Delay = millis(int(number(delay)))
			}
			s.Locations = append(s.Locations, ls)
			continue
		}
		location, value2, _ := strings.Cut(value, ":")
		k := slices.IndexFunc(s.Locations, func(ls kind.Location) bool { return ls.Name == location })
		switch key {
		case "gates":
			s.Locations[k].Gates = strings.Split(value2, ",")
		case "require":
			s.Locations[k].Require = int(number(value2))
		case "failing":
			s.Locations[k].MaxFailing = int(number(value2))
		case "from":
			s.DelayFrom = kind.FromAssigned
		case "source":
			s.Versions = kind.Asked
		case "interval":
			s.Reelect.Interval = millis(int(number(value)))
		case "max":
			s.Reelect.Most = int(number(value))
		case "progress":
			s.ProgressDeadline = millis(int(number(value)))
		case "halt":
			s.HaltDeadline = millis(int(number(value)))
		case "keep":
			s.KeepVersions = int(number(value))
		default:
			panic(word)
		}
	}
	return s
}

func parseAct(words []string) kind.Action {
	act := kind.Action{Kind: ofWord(kind.ActionKinds, words[0]), By: kind.ChangeInfo{Author: "op", Reason: "because"}}
	for _, word := range words[1:] {
		if seq, ok := strings.CutPrefix(word, "seq="); ok {
			act.Seq = number(seq)
		} else if word == "fast" {
			act.Fast = true
		} else {
			act.Locations = append(act.Locations, strings.Split(word, ",")...)
		}
	}
	return act
}

// ofWord returns the number of a word: the numbers are below an end.
func ofWord[E interface {
	~uint8
	String() string
}](end E, word string) E {
	for e := range end {
		if e.String() == word {
			return e
		}
	}
	panic("no number has the word " + word)
}
