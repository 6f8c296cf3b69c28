package protocol

import (
	"fmt"
	"github.com/signalbox/signalbox/protocol/health"
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

// docsPage is the specification.
const docsPage = "../docs/protocol.md"

// docs is docs/protocol.md, with its headings in order.
type docs struct {
	text  string
	order []string
}

func readDocs(t *testing.T) docs {
	t.Helper()
	text, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	d := docs{text: string(text)}
	for line := range strings.Lines(d.text) {
		if title := headingOf(line); title != "" {
			d.order = append(d.order, title)
		}
	}
	return d
}

// headingOf returns a heading's title, or "" for other lines.
func headingOf(line string) string {
	if !strings.HasPrefix(line, "#") {
		return ""
	}
	return strings.TrimSpace(strings.TrimLeft(line, "#"))
}

var link = regexp.MustCompile(`\[([^\]]+)\]\((#[^)]*)\)`)

// enums maps an enum's name to its String function.
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
	"SlotOutcome":       func(n uint8) string { return SlotOutcome(n).String() },
	"EffectKind":        func(n uint8) string { return EffectKind(n).String() },
	"AccessAction":      func(n uint8) string { return AccessAction(n).String() },
	"HostAction":        func(n uint8) string { return HostAction(n).String() },
	"TokenAction":       func(n uint8) string { return TokenAction(n).String() },
	"ShardAction":       func(n uint8) string { return ShardAction(n).String() },
	"RebalanceAction":   func(n uint8) string { return RebalanceAction(n).String() },
	"ReplicaRole":       inCapitals[host.Role],
	"Severity":          inCapitals[health.Severity],
}

// nameOfEnum returns the name of a value, or the number if the value has no name.
func nameOfEnum(text func(uint8) string, n uint8) (name string, known bool) {
	name = text(n)
	return name, !strings.HasSuffix(name, "_"+strconv.Itoa(int(n)))
}

// inCapitals returns the documented form of an enum name from a package below protocol.
func inCapitals[E interface {
	~uint8
	String() string
}](n uint8) string {
	return field.Name(E(n))
}

// limits are the limits listed in docs/protocol.md and the schema.
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
	"MaxSlotBytes":  MaxSlotBytes,
	"MaxTokenBytes": MaxTokenBytes, "MaxClientNameBytes": MaxClientNameBytes,
	"MaxVersionBytes": MaxVersionBytes,
	"MaxMessageBytes": MaxMessageBytes, "MaxHostNameBytes": MaxHostNameBytes, "MaxAddressBytes": MaxAddressBytes,
	"MaxClusterIDBytes": MaxClusterIDBytes, "MaxSessionTimeoutMillis": MaxSessionTimeoutMillis,
	"MaxAcquireWaitMillis": MaxAcquireWaitMillis, "Slots": Slots, "SlotSetBytes": SlotSetBytes,
	"MaxSessionCounter": MaxSessionCounter,
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

// TestDocsLinksLeadSomewhere: a dead link means that a page was renamed in one place only.
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

// TestDocsSlotIsRight: the slot in the page's worked example must be the slot that the code computes.
func TestDocsSlotIsRight(t *testing.T) {
	want := fmt.Sprintf("the slot is %d.", SemaphoreSlot(1, []byte("leader")))
	if !strings.Contains(readDocs(t).text, want) {
		t.Errorf("the page does not say %q", want)
	}
}
