package protocol

import (
	"fmt"
	"github.com/signalbox/signalbox/protocol/health"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/process"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// docs is docs/protocol.md: its headings with the tables under them, as rows of cells.
type docs struct {
	text   string
	order  []string
	tables map[string][][]string
}

func readDocs(t *testing.T) docs {
	t.Helper()
	text, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	d := docs{text: string(text), tables: make(map[string][][]string)}
	heading := ""
	for line := range strings.Lines(d.text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			heading = title
			d.order = append(d.order, heading)
			d.tables[heading] = nil
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		d.tables[heading] = append(d.tables[heading], cells)
	}
	return d
}

var (
	messageHeading = regexp.MustCompile(`^([A-Z_]+) \((\d+)\)$`)
	link           = regexp.MustCompile(`\[([^\]]+)\]\((#[^)]*)\)`)
	firstNumber    = regexp.MustCompile(`^\d+`)
)

// fields returns the fields that a table lists, beginning with the given index.
func (d docs) fields(t *testing.T, heading string, first int) []wireField {
	t.Helper()
	var fields []wireField
	for i, row := range d.tables[heading] {
		if i == 0 {
			if want := []string{"index", "field", "type", "limit", "meaning"}; !slices.Equal(row, want) {
				t.Fatalf("%s: columns %v, want %v", heading, row, want)
			}
			continue
		}
		if row[0] != strconv.Itoa(first+i-1) {
			t.Errorf("%s: field %s has index %s, want %d", heading, row[1], row[0], first+i-1)
		}
		f := wireField{Name: row[1], Type: row[2], Limit: firstNumber.FindString(row[3])}
		of, isList := strings.CutPrefix(f.Type, "list of ")
		record := link.FindStringSubmatch(of)
		switch {
		case isList && record == nil: // the limit is that of each item
			f.Type, f.Limit, f.Fields = "list", "", []wireField{{Type: of, Limit: f.Limit}}
		case record != nil:
			f.Type = "record"
			if isList {
				f.Type = "list"
			}
			f.Fields = d.fields(t, "record "+record[1], 0)
			if len(f.Fields) == 0 {
				t.Errorf("%s: field %s is of the record %s, which is not described", heading, f.Name, record[1])
			}
		}
		fields = append(fields, f)
	}
	return fields
}

func TestDocsListEveryMessageWithItsFields(t *testing.T) {
	d := readDocs(t)
	undocumented := make(map[Kind]bool)
	for _, k := range knownKinds() {
		undocumented[k] = true
	}
	for _, heading := range d.order {
		m := messageHeading.FindStringSubmatch(heading)
		if m == nil {
			continue
		}
		number, _ := strconv.Atoi(m[2])
		kind := Kind(number)
		if kind.String() != m[1] {
			t.Errorf("%s: %d is %s", heading, number, kind)
			continue
		}
		delete(undocumented, kind)
		want, first := schema(t, kind), 2
		if kind.IsAnswer() {
			want, first = want[2:], 4
		}
		compareFields(t, heading, d.fields(t, heading, first), want)
	}
	for k := range undocumented {
		t.Errorf("%s (%d) is not described", k, k)
	}
	for _, r := range records {
		compareFields(t, "record "+r.name, d.fields(t, "record "+r.name, 0), recordSchema(t, r))
	}
	// The two fields that every answer begins with are described apart.
	outcome := schema(t, KindPing.Answer())
	compareFields(t, "record Detail", d.fields(t, "record Detail", 0), outcome[1].Fields)
}

func compareFields(t *testing.T, where string, got, want []wireField) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: the field %s is not described", where, want[i].Name)
		case i >= len(want):
			t.Errorf("%s: there is no field %s", where, got[i].Name)
		case got[i].Name != want[i].Name || got[i].Type != want[i].Type || got[i].Limit != want[i].Limit:
			t.Errorf("%s: described as %s %s %q, is %s %s %q", where,
				got[i].Name, got[i].Type, got[i].Limit, want[i].Name, want[i].Type, want[i].Limit)
		default:
			compareFields(t, where+", "+got[i].Name, got[i].Fields, want[i].Fields)
		}
	}
}

func TestDocsListEveryStatus(t *testing.T) {
	table := readDocs(t).tables["Statuses"]
	classes := make(map[string]bool)
	var got []string
	for _, row := range table {
		switch {
		case len(row) == 2 && row[0] != "class":
			classes[row[0]] = true
		case len(row) == 4 && row[0] != "number":
			got = append(got, fmt.Sprint(row[:3]))
		}
	}
	var want []string
	used := make(map[string]bool)
	for _, s := range knownStatuses() {
		want = append(want, fmt.Sprint([]string{strconv.Itoa(int(s)), s.String(), s.Retry().String()}))
		used[s.Retry().String()] = true
	}
	if !slices.Equal(got, want) {
		t.Errorf("statuses:\n got %v\nwant %v", got, want)
	}
	if !maps.Equal(classes, used) {
		t.Errorf("retry classes: got %v, want %v", classes, used)
	}
}

// enums names the enums, and what each number is called.
var enums = map[string]func(uint8) string{
	"AcquireOutcome":    func(n uint8) string { return AcquireOutcome(n).String() },
	"AbortReason":       func(n uint8) string { return AbortReason(n).String() },
	"EndReason":         func(n uint8) string { return EndReason(n).String() },
	"Consistency":       func(n uint8) string { return Consistency(n).String() },
	"CountersMode":      func(n uint8) string { return CountersMode(n).String() },
	"HostState":         inCapitals[host.State],
	"Existence":         func(n uint8) string { return Existence(n).String() },
	"ObjectKind":        func(n uint8) string { return ObjectKind(n).String() },
	"QuotaKind":         func(n uint8) string { return QuotaKind(n).String() },
	"RolloutActionKind": inCapitals[kind.ActionKind],
	"Verdict":           inCapitals[kind.Result],
	"InstanceStatus":    inCapitals[kind.Status],
	"RolloutPhase":      inCapitals[kind.Phase],
	"PutMode":           inCapitals[field.PutMode],
	"DelayFrom":         inCapitals[kind.DelayFrom],
	"VersionSource":     inCapitals[kind.VersionSource],
	"HaltReason":        inCapitals[kind.HaltReason],
	"TargetCause":       inCapitals[kind.Cause],
	"OnTimeout":         inCapitals[process.OnTimeout],
	"ProcessActionKind": inCapitals[process.ActionKind],
	"Audience":          inCapitals[process.Audience],
	"ItemKind":          inCapitals[process.ItemKind],
	"Outcome":           inCapitals[process.Outcome],
	"ProcessPhase":      inCapitals[process.Phase],
	"HostEvent":         func(n uint8) string { return HostEvent(n).String() },
	"EffectKind":        func(n uint8) string { return EffectKind(n).String() },
	"AccessAction":      func(n uint8) string { return AccessAction(n).String() },
	"HostAction":        func(n uint8) string { return HostAction(n).String() },
	"TokenAction":       func(n uint8) string { return TokenAction(n).String() },
	"ReplicaRole":       inCapitals[host.Role],
	"Severity":          inCapitals[health.Severity],
}

// nameOfEnum returns the name of a value. A number without a name shows itself.
func nameOfEnum(text func(uint8) string, n uint8) (name string, known bool) {
	name = text(n)
	return name, !strings.HasSuffix(name, "_"+strconv.Itoa(int(n)))
}

func TestDocsListEverySmallNumber(t *testing.T) {
	d := readDocs(t)
	for name, text := range enums {
		var got, want []string
		for _, row := range d.tables["enum "+name] {
			got = append(got, row[0]+" "+row[1])
		}
		want = append(want, "number name")
		for n := range uint8(255) {
			if s, known := nameOfEnum(text, n); known {
				want = append(want, strconv.Itoa(int(n))+" "+s)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// inCapitals is the name that the docs write for the words of a number of a room below protocol.
func inCapitals[E interface {
	~uint8
	String() string
}](n uint8) string {
	return field.Name(E(n))
}

// limits are those that docs/protocol.md and the schema list.
var limits = map[string]uint64{
	"MaxNameBytes": MaxNameBytes, "MaxViewBytes": MaxViewBytes,
	"MaxPathBytes": MaxPathBytes, "MaxSecretBytes": MaxSecretBytes, "MaxClientIDBytes": MaxClientIDBytes,
	"MaxIncarnationBytes": MaxIncarnationBytes,
	"MaxDataBytes":        MaxDataBytes, "DefaultDataBytes": DefaultDataBytes,
	"FrameRoom": FrameRoom, "HelloFrameBytes": HelloFrameBytes, "PageBytes": PageBytes,
	"MaxPageItems": MaxPageItems, "MaxWordBytes": MaxWordBytes, "MaxReasonBytes": MaxReasonBytes,
	"MaxRolloutTextBytes": MaxRolloutTextBytes, "MaxRolloutAttributeBytes": MaxRolloutAttributeBytes,
	"MaxRolloutPayloadBytes": MaxRolloutPayloadBytes,
	"MaxProcessTextBytes":    MaxProcessTextBytes, "MaxProcessAttributeBytes": MaxProcessAttributeBytes,
	"MaxProcessFailureBytes": MaxProcessFailureBytes, "MaxProcessPayloadBytes": MaxProcessPayloadBytes,
	"MaxAccessNameBytes": MaxAccessNameBytes, "MaxPrincipalBytes": MaxPrincipalBytes,
	"MaxForwardedBytes":    MaxForwardedBytes,
	"MaxReportBytes":       MaxReportBytes,
	"MaxOperatorTextBytes": MaxOperatorTextBytes, "MaxDomainBytes": MaxDomainBytes,
	"MaxSubjectBytes": MaxSubjectBytes, "MaxHashBytes": MaxHashBytes, "MaxHoldMillis": MaxHoldMillis,
	"MaxTokenBytes": MaxTokenBytes, "MaxClientNameBytes": MaxClientNameBytes,
	"MaxVersionBytes": MaxVersionBytes,
	"MaxMessageBytes": MaxMessageBytes, "MaxHostNameBytes": MaxHostNameBytes, "MaxAddressBytes": MaxAddressBytes,
	"MaxClusterIDBytes": MaxClusterIDBytes, "MaxSessionTimeoutMillis": MaxSessionTimeoutMillis,
	"MaxAcquireWaitMillis": MaxAcquireWaitMillis, "Slots": Slots, "MaxSessionCounter": MaxSessionCounter,
}

func TestDocsListTheLimits(t *testing.T) {
	got := make(map[string]uint64)
	for _, row := range readDocs(t).tables["Reference: limits"][1:] {
		n, err := strconv.ParseUint(row[1], 10, 64)
		if err != nil {
			t.Errorf("%s: %v", row[2], err)
		}
		got[row[2]] = n
	}
	if !maps.Equal(got, limits) {
		t.Errorf("got %v\nwant %v", got, limits)
	}
}

func TestDocsShowRealFrames(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```hex ([a-z-]+)\n(.*?)```").FindAllStringSubmatch(readDocs(t).text, -1)
	if len(blocks) == 0 {
		t.Fatal("there are none")
	}
	remark := regexp.MustCompile(`#[^\n]*`)
	for _, block := range blocks {
		i := slices.IndexFunc(examples, func(e example) bool { return e.name == block[1] })
		if i < 0 {
			t.Errorf("there is no example %s", block[1])
			continue
		}
		digits := strings.Join(strings.Fields(remark.ReplaceAllString(block[2], "")), "")
		if want := fmt.Sprintf("%x", examples[i].sample.frame()); digits != want {
			t.Errorf("%s:\n got %s\nwant %s", block[1], digits, want)
		}
	}
}

// TestDocsLinksLeadSomewhere: a link that leads nowhere is a page that was renamed in one place only.
func TestDocsLinksLeadSomewhere(t *testing.T) {
	d := readDocs(t)
	anchors := make(map[string]bool)
	for _, heading := range d.order {
		anchor := strings.ToLower(heading)
		anchor = regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(anchor, "")
		anchors["#"+strings.ReplaceAll(anchor, " ", "-")] = true
	}
	for _, m := range link.FindAllStringSubmatch(d.text, -1) {
		if !anchors[m[2]] {
			t.Errorf("%s leads nowhere", m[0])
		}
	}
}

// TestDocsSlotIsRight: the slot that the page works out for the reader must be the one that the code does.
func TestDocsSlotIsRight(t *testing.T) {
	want := fmt.Sprintf("the slot is %d.", SemaphoreSlot(1, []byte("leader")))
	if !strings.Contains(readDocs(t).text, want) {
		t.Errorf("the page does not say %q", want)
	}
}
