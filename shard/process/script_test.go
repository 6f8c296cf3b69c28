package process

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// A script is a story of one process. Each line is a command or an expectation. Epochs have their ordinals: the first,
// the second. Sessions have letters.
//
//	spec open=100 most=2000 min=1 timeout=0 wait|kick|fail payload=65536 keep=16     like WithDefaults
//	at 100                          executes everything due until 100 ms after the start, and sets that time
//	join a [observer] [NAME], leave a, kick a REASON, restart REASON, alter ...
//	prepared a [1], completed a [1], ack a [SEQ]
//	send a all|others|none|b,c TEXT [timeout=100] [epoch=1], fill a N all|b    sends N requests
//	reply b 1 TEXT [epoch=1], failed b 1 TEXT
//	complete a RESULT [epoch=1], fail a TEXT
//	round                           prepares all, acknowledges that, and gives the coordinator its item
//	reload                          saves and loads
//	epoch 2, state running, coordinator a
//	inbox a ...                     expects the unacknowledged items, as drawn by drawItem; - is none
//	refused STATUS [TEXT]           expects that the previous command was refused, with this substring
//	why CODE TEXT                   expects a reason with this substring; why nothing
//	result 1 TEXT, results N, removed b, event KIND
type script struct {
	t *testing.T
	*bed
	began   uint64
	epochs  []uint64
	answer  Answer
	line    string
	checked bool // whether the answer has been expected to be a refusal
	drained map[string]uint64
}

func play(t *testing.T, text string) *script {
	t.Helper()
	s := &script{t: t, checked: true, drained: make(map[string]uint64)}
	for k, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " //")
		if words := strings.Fields(line); len(words) > 0 {
			s.line = fmt.Sprintf("line %d: %s", k, line)
			s.run(words)
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
		s.fatalf("the command before was refused: %v %s", s.answer.Status, s.answer.Text)
	}
	s.checked = true
}

// onTimeouts are the settings by their words.
var onTimeouts = map[string]kind.OnTimeout{
	"wait": kind.TimeoutWait, "kick": kind.TimeoutEvict, "fail": kind.TimeoutFail,
}

func defaultSpec() kind.Spec { return kind.Spec{}.WithDefaults() }

func parseSpec(words []string) kind.Spec {
	spec := defaultSpec()
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		millis := time.Duration(n) * time.Millisecond
		switch key {
		case "open":
			spec.OpenDelay = millis
		case "most":
			spec.MaxOpenDelay = millis
		case "min":
			spec.MinMembers = n
		case "timeout":
			spec.ReplyTimeout = millis
		case "payload":
			spec.MaxPayload = n
		case "keep":
			spec.KeepResults = n
		default:
			spec.OnTimeout = onTimeouts[key]
		}
	}
	return spec
}

func (s *script) run(words []string) {
	s.t.Helper()
	verb, args := words[0], words[1:]
	if s.bed == nil {
		spec := defaultSpec()
		if verb == "spec" {
			spec = parseSpec(args)
		}
		var a Answer
		if s.bed, a = newBed(spec); a.Status != protocol.StatusSuccess {
			s.fatalf("%s", a.Text)
		}
		s.began = s.now
		if verb == "spec" {
			return
		}
	}
	if verb == "refused" {
		s.expectRefusal(args)
		return
	}
	s.accepted()
	if !s.expectation(verb, args) {
		s.command(verb, args)
	}
	if s.Epoch() != 0 && !slices.Contains(s.epochs, s.Epoch()) {
		s.epochs = append(s.epochs, s.Epoch())
	}
}

// option takes KEY=VALUE out of words.
func option(words []string, key string) ([]string, uint64, bool) {
	for k, word := range words {
		if value, ok := strings.CutPrefix(word, key+"="); ok {
			n, _ := strconv.ParseUint(value, 10, 64)
			return slices.Delete(slices.Clone(words), k, k+1), n, true
		}
	}
	return words, 0, false
}

// takeEpoch takes the epoch from a command's words: the last one by default.
func (s *script) takeEpoch(args []string) ([]string, uint64) {
	args, n, ok := option(args, "epoch")
	if !ok {
		return args, s.Epoch()
	}
	return args, s.epochs[n-1]
}

func (s *script) member(name string) *Member {
	if m := s.sessions[name]; m != nil {
		return m
	}
	return &Member{ID: 1 << 40}
}

func (s *script) do(command func(at At) Answer) {
	s.t.Helper()
	var err error
	if s.answer, err = s.bed.do(command); err != nil {
		s.fatalf("%v", err)
	}
	s.checked = false
	s.forgetRemoved()
}

func (s *script) command(verb string, args []string) {
	s.t.Helper()
	args, epoch := s.takeEpoch(args)
	args, timeout, _ := option(args, "timeout")
	text := strings.Join(args[min(1, len(args)):], " ")
	var err error
	switch verb {
	case "at":
		n, _ := strconv.ParseUint(args[0], 10, 64)
		err = s.play(s.began + n)
	case "join":
		j := kind.Joining{Candidate: !slices.Contains(args, "observer")}
		if name := args[len(args)-1]; len(args) > 1 && name != "observer" {
			j.Name = name
		}
		s.answer, err = s.join(args[0], j)
		s.checked = false
	case "leave":
		s.answer, err = s.leave(args[0])
		s.checked = false
	case "kick":
		act := kind.Action{Kind: kind.ActionEvict, MemberID: s.member(args[0]).ID,
			By: kind.ChangeInfo{Author: "op", Reason: text}}
		s.do(func(at At) Answer { return s.Act(at, act) })
	case "restart":
		act := kind.Action{Kind: kind.ActionRestart, By: kind.ChangeInfo{Author: "op", Reason: strings.Join(args, " ")}}
		s.do(func(at At) Answer { return s.Act(at, act) })
	case "alter":
		s.do(func(at At) Answer {
			return s.Alter(at, parseSpec(append(args, fmt.Sprint("timeout=", timeout))), kind.ChangeInfo{Author: "op"})
		})
	case "reload":
		err = s.reload()
	case "round":
		s.round()
	default:
		s.memberCommand(verb, args, epoch, timeout, text)
	}
	if err != nil {
		s.fatalf("%v", err)
	}
}

// round prepares everyone not yet prepared.
func (s *script) round() {
	s.t.Helper()
	for _, m := range slices.Clone(s.Members()) {
		s.do(func(at At) Answer { return s.Prepared(at, m, s.Epoch()) })
	}
	if c := s.Member(s.Coordinator()); s.Phase() == kind.Running {
		s.do(func(at At) Answer { return s.Ack(at, c, c.lastSeq) })
	}
}

func (s *script) memberCommand(verb string, args []string, epoch, timeout uint64, text string) {
	s.t.Helper()
	m := s.member(args[0])
	exchange := uint64(0)
	if len(args) > 1 {
		exchange, _ = strconv.ParseUint(args[1], 10, 64)
	}
	switch verb {
	case "prepared":
		s.do(func(at At) Answer { return s.Prepared(at, m, epoch) })
	case "completed":
		s.do(func(at At) Answer { return s.Completed(at, m, epoch) })
	case "ack":
		if len(args) == 1 {
			exchange = m.lastSeq
		}
		s.do(func(at At) Answer { return s.Ack(at, m, exchange) })
	case "send", "fill":
		r, n := Request{Epoch: epoch, Timeout: timeout, Payload: []byte(strings.Join(args[2:], " "))}, uint64(1)
		to := args[1]
		if verb == "fill" {
			to, n, r.Payload = args[2], exchange, nil
		}
		s.address(&r, to)
		for range n {
			s.do(func(at At) Answer { return s.Send(at, m, r) })
		}
	case "reply", "failed":
		r := answering{Epoch: epoch, Exchange: exchange, Failed: verb == "failed"}
		r.Data = []byte(strings.Join(args[2:], " "))
		s.do(func(at At) Answer { return s.Reply(at, m, r) })
	case "complete":
		s.do(func(at At) Answer { return s.Complete(at, m, epoch, []byte(text)) })
	case "fail":
		s.do(func(at At) Answer { return s.Fail(at, m, epoch, text) })
	default:
		s.fatalf("that is no command")
	}
}

func (s *script) address(r *Request, to string) {
	switch to {
	case "all":
		r.Audience = kind.ToAll
	case "others":
		r.Audience = kind.ToOthers
	case "none":
	default:
		for _, name := range strings.Split(to, ",") {
			r.To = append(r.To, s.member(name).ID)
		}
	}
}

func (s *script) expectRefusal(args []string) {
	s.t.Helper()
	if s.answer.Status.String() != args[0] || !strings.Contains(s.answer.Text, strings.Join(args[1:], " ")) {
		s.fatalf("it was answered %v %s", s.answer.Status, s.answer.Text)
	}
	s.checked = true
}

// expectation checks an expectation line; false for other lines.
func (s *script) expectation(verb string, args []string) bool {
	s.t.Helper()
	var got, want string
	switch text := strings.Join(args, " "); verb {
	case "epoch":
		got, want = fmt.Sprint(len(s.epochs)), text
	case "state":
		got, want = s.Phase().String(), text
	case "coordinator":
		got, want = s.nameOf(s.Coordinator()), text
	case "inbox":
		got, want = s.drawInbox(args[0]), strings.Join(args[1:], " ")
	case "why":
		got, want = s.drawWhy(), text
		if strings.Contains(got, text) {
			return true
		}
	case "results":
		got, want = fmt.Sprint(len(s.Results())), text
	case "result":
		for _, r := range s.Results() {
			if fmt.Sprint(s.ordinal(r.Epoch)) == args[0] {
				got, want = string(r.Payload), strings.Join(args[1:], " ")
			}
		}
	case "removed":
		for _, m := range s.out.Removed {
			got += m.Name
		}
		want = text
	case "due":
		if due, ok := s.NextDue(); ok {
			got = fmt.Sprint(due - s.began)
		}
		want = text
	default:
		return false
	}
	if got != want {
		s.fatalf("it is %s", got)
	}
	return true
}

func (s *script) ordinal(epoch uint64) int { return slices.Index(s.epochs, epoch) + 1 }

func (s *script) nameOf(id uint64) string {
	if m := s.Member(id); m != nil {
		return m.Name
	}
	return "gone"
}

func (s *script) drawWhy() string {
	var list []string
	for _, re := range s.Why() {
		list = append(list, string(re.Code)+" "+re.Describe(s.now))
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, "\n")
}

func (s *script) drawInbox(name string) string {
	var list []string
	m := s.member(name)
	for _, d := range s.Inbox(m, m.acked, 1<<30, nil) {
		list = append(list, s.drawItem(&d))
	}
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, " ")
}

// drawItem draws an item: its kind and epoch, and prepare:1(a,3), request:1#2<a=TEXT, end:1#2=all[b=ok,c=!bad],
// end:1#2=late[b=ok]-c, complete:1=RESULT.
func (s *script) drawItem(d *Delivery) string {
	text := fmt.Sprintf("%v:%d", d.Kind, s.ordinal(d.Epoch))
	switch d.Kind {
	case kind.ItemPrepare:
		text += fmt.Sprintf("(%s,%d)", s.nameOf(d.Coordinator), d.Members)
	case kind.ItemRequest:
		text += fmt.Sprintf("#%d<%s=%s", d.Exchange, s.nameOf(d.From), d.Payload)
	case kind.ItemComplete:
		text += "=" + string(d.Payload)
	case kind.ItemEnd:
		var replies, missed []string
		for _, r := range d.Replies {
			failed := ""
			if r.Failed {
				failed = "!"
			}
			replies = append(replies, fmt.Sprintf("%s=%s%s", s.nameOf(r.From), failed, r.Data))
		}
		for _, id := range d.Missed {
			missed = append(missed, s.nameOf(id))
		}
		text += fmt.Sprintf("#%d=%v[%s]", d.Exchange, d.Outcome, strings.Join(replies, ","))
		if d.Missing > 0 {
			text += "-" + strings.Join(missed, ",")
		}
	}
	return text
}
