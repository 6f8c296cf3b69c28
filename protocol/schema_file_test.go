package protocol

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/protocol/process"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/protocol/session"
)

// schemaWriter writes testdata/schema.json, the wire format for programs in other languages. Types and limits come from
// the decoders' errors; record and enum names come from the Go types.
type schemaWriter struct {
	t       *testing.T
	out     bytes.Buffer
	records map[string][]string // lines of fields
}

// TestSchemaIsThatOfTheCode: the file matches the operation table and the codec.
func TestSchemaIsThatOfTheCode(t *testing.T) {
	w := &schemaWriter{t: t, records: make(map[string][]string)}
	compareFile(t, filepath.Join("testdata", "schema.json"), w.write())
}

func (w *schemaWriter) write() []byte {
	w.out.WriteString("{\n  \"version\": 1,\n  \"level\": " + strconv.Itoa(int(level.Newest)) + ",\n")
	w.out.WriteString("  \"answer_offset\": " + strconv.Itoa(int(AnswerOffset)) + ",\n")
	w.section("statuses", w.statuses())
	var messages []string
	for _, k := range knownKinds() {
		messages = append(messages, w.message(k))
	}
	for _, c := range records {
		w.record(c.name, reflect.ValueOf(c.empty()).Elem(), recordSchema(w.t, c))
	}
	w.section("enums", w.enums())
	var list []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		list = append(list, fmt.Sprintf("%q: %s", name, number(limits[name])))
	}
	w.block("limits", list, '{', '}')
	list = nil
	for _, name := range slices.Sorted(maps.Keys(w.records)) {
		list = append(list, fmt.Sprintf("%q: [\n%s\n    ]", name, strings.Join(w.records[name], ",\n")))
	}
	w.block("records", list, '{', '}')
	w.section("messages", messages)
	w.out.Truncate(w.out.Len() - len(",\n"))
	w.out.WriteString("\n}\n")
	return w.out.Bytes()
}

func (w *schemaWriter) section(name string, items []string) { w.block(name, items, '[', ']') }

func (w *schemaWriter) block(name string, items []string, open, end byte) {
	fmt.Fprintf(&w.out, "  %q: %c\n    %s\n  %c,\n", name, open, strings.Join(items, ",\n    "), end)
}

func (w *schemaWriter) statuses() (lines []string) {
	for _, s := range knownStatuses() {
		lines = append(lines, fmt.Sprintf("{\"number\": %d, \"name\": %q, \"retry\": %q}", s, s.String(), s.Retry()))
	}
	return lines
}

func (w *schemaWriter) enums() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(enums)) {
		var values []string
		for n := range uint8(255) {
			if s, known := nameOfEnum(enums[name], n); known {
				values = append(values, fmt.Sprintf("\"%d\": %q", n, s))
			}
		}
		lines = append(lines, fmt.Sprintf("{\"name\": %q, \"values\": {%s}}", name, strings.Join(values, ", ")))
	}
	return lines
}

// message describes a kind with its fields. In an answer, the fields follow the common status and detail.
func (w *schemaWriter) message(k Kind) string {
	m, typ := emptySample(w.t, k).message, "push"
	rights := ""
	switch {
	case k.IsRequest():
		typ = "request"
		right := requests[k].right.String()
		if requests[k].right == RightOpen {
			right = "open"
		}
		rights = fmt.Sprintf(", \"right\": %q", right)
	case k.IsAnswer():
		typ = "answer"
	}
	fields, first := schema(w.t, k), 2
	if k.IsAnswer() {
		outcome := struct{ Result Result }{}
		w.lines(k.String(), reflect.ValueOf(&outcome).Elem(), fields[:2], 2)
		fields, first = fields[2:], 4
	}
	head := fmt.Sprintf("{\"name\": %q, \"kind\": %d, \"type\": %q%s, \"fields\": [", k, k, typ, rights)
	lines := w.lines(k.String(), reflect.ValueOf(m).Elem(), fields, first)
	if len(lines) == 0 {
		return head + "]}"
	}
	return head + "\n" + strings.Join(lines, ",\n") + "\n    ]}"
}

// lines are the fields in a message or record, each at its position.
func (w *schemaWriter) lines(of string, v reflect.Value, fields []wireField, first int) (lines []string) {
	values := make(map[string]reflect.Value)
	if strings.HasPrefix(v.Type().PkgPath(), reflect.TypeFor[Kind]().PkgPath()+"/") {
		collectSaid(values, v)
	} else {
		collect(values, v)
	}
	if of, ok := values[embedded]; ok {
		collectSaid(values, of)
	}
	for i, f := range fields {
		value := values[f.Name]
		line := fmt.Sprintf("      {\"index\": %d, \"name\": %q, \"type\": %q", first+i, f.Name, f.Type)
		max := f.Limit
		switch f.Type {
		case "record":
			line += fmt.Sprintf(", \"record\": %q", w.recordOf(value, f))
		case "list":
			if f.Fields[0].Name == "" {
				line += fmt.Sprintf(", \"of\": %q", f.Fields[0].Type)
				max = f.Fields[0].Limit
			} else {
				line += fmt.Sprintf(", \"of\": \"record\", \"record\": %q", w.recordOf(itemOf(value), f))
			}
		case "uint":
			if name := nameOfType(value); enums[name] != nil || name == "Status" {
				line += fmt.Sprintf(", \"names\": %q", name)
			}
		}
		if max != "" {
			n, err := strconv.ParseUint(max, 10, 64)
			if err != nil {
				w.t.Fatal(err)
			}
			line += ", \"max\": " + number(n)
		}
		lines = append(lines, line+"}")
	}
	return lines
}

// itemOf returns a new list item.
func itemOf(list reflect.Value) (item reflect.Value) {
	if list.Kind() == reflect.Slice {
		return reflect.New(list.Type().Elem()).Elem()
	}
	list.Addr().Interface().(contents).grow(1, func(x any) { item = reflect.ValueOf(x).Elem() })
	return item
}

// collectSaid finds a value's fields by their wire names, for a value from a package below protocol. Only fields with
// equal Go and wire names are found, because only enums, records and lists are looked up.
func collectSaid(values map[string]reflect.Value, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		values[wireName(f.Name)] = v.Field(i)
		if name := f.Tag.Get("name"); name != "" && !values[name].IsValid() {
			values[name] = v.Field(i)
		}
		switch {
		case f.Type == reflect.TypeFor[kind.LocationState]():
			collectSaid(values, v.Field(i))
			values["spec"] = values["location"]
		case f.Anonymous:
			collectSaid(values, v.Field(i))
		case f.Type == reflect.TypeFor[process.Phase](): // the wire name differs
			values["phase"] = v.Field(i)
		}
	}
}

// namesBelow has the wire names for types from packages below protocol, if the Go name lacks the package's context.
var namesBelow = map[reflect.Type]string{
	reflect.TypeFor[kind.ActionKind](): "RolloutActionKind", reflect.TypeFor[kind.Action](): "RolloutAction",
	reflect.TypeFor[kind.Result](): "Verdict",
	reflect.TypeFor[kind.Status](): "InstanceStatus", reflect.TypeFor[kind.Phase](): "RolloutPhase",
	reflect.TypeFor[kind.Cause](): "TargetCause", reflect.TypeFor[kind.Spec](): "RolloutSpec",
	reflect.TypeFor[kind.Location](): "LocationSpec", reflect.TypeFor[kind.Reelect](): "ReelectSpec",
	reflect.TypeFor[kind.State](): "RolloutOverview", reflect.TypeFor[kind.Halt](): "RolloutStop",
	reflect.TypeFor[kind.ActionRecord](): "RolloutActionRow", reflect.TypeFor[kind.LocationRow](): "RolloutLocation",
	reflect.TypeFor[kind.Counts](): "InstanceCounts", reflect.TypeFor[kind.Row](): "TargetRow",
	reflect.TypeFor[kind.Version](): "RolloutVersion", reflect.TypeFor[kind.InstanceState](): "RolloutInstance",
	reflect.TypeFor[kind.Report](): "InstanceReport", reflect.TypeFor[kind.Ticket](): "SourceTicket",
	reflect.TypeFor[kind.BlockReason](): "Reason", reflect.TypeFor[kind.Summary](): "RolloutSummary",
	reflect.TypeFor[kind.Step](): "PlannedStep", reflect.TypeFor[session.Details](): "SessionDetails",
	reflect.TypeFor[process.ActionKind](): "ProcessActionKind", reflect.TypeFor[process.Phase](): "ProcessPhase",
	reflect.TypeFor[process.Spec](): "ProcessSpec", reflect.TypeFor[process.BlockReason](): "ProcessReason",
	reflect.TypeFor[process.ActionRecord](): "ProcessActionRow",
	reflect.TypeFor[process.SummaryRow]():   "ProcessSummary",
	reflect.TypeFor[host.State]():           "HostState", reflect.TypeFor[host.Host](): "ClusterHost",
	reflect.TypeFor[host.Standing](): "HostStanding", reflect.TypeFor[host.Shard](): "ClusterShard",
	reflect.TypeFor[host.Replica](): "ClusterReplica", reflect.TypeFor[host.Role](): "ReplicaRole",
	reflect.TypeFor[host.Policy](): "GovernorPolicy", reflect.TypeFor[host.Step](): "ClusterStep",
	reflect.TypeFor[host.Reason](): "GovernorReason", reflect.TypeFor[host.Entry](): "AuditEntry",
	reflect.TypeFor[host.SlotMove]():   "SlotMove",
	reflect.TypeFor[host.ShardSlots](): "ShardSlots", reflect.TypeFor[host.PlannedMoves](): "PlannedMoves",
	reflect.TypeFor[access.Rule](): "AccessRule", reflect.TypeFor[access.Grant](): "AccessGrant",
	reflect.TypeFor[access.Role](): "AccessRole", reflect.TypeFor[access.Principal](): "AccessPrincipal",
	reflect.TypeFor[access.Decision](): "AccessDecision", reflect.TypeFor[access.Denial](): "AccessDenial",
}

// groups has the names of records whose fields belong to the enclosing Go type, by wire field name.
var groups = map[string]string{"addresses": "HostAddresses", "observed": "HostObservation"}

// nameOfType returns the wire name of a field's type, or "" for a value that was not found.
func nameOfType(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	if name, ok := namesBelow[v.Type()]; ok {
		return name
	}
	return v.Type().Name()
}

// recordOf returns the record name of a value. The first call notes the record's fields.
func (w *schemaWriter) recordOf(v reflect.Value, f wireField) string {
	name := nameOfType(v)
	if !v.IsValid() {
		name, v = groups[f.Name], reflect.ValueOf(struct{}{})
	}
	if v.Type() == reflect.TypeFor[Result]() {
		name = "Detail"
		v = reflect.ValueOf(&struct {
			Message    string
			WaitMillis uint64
			Reason     AbortReason
			Moved      Moved
			Quota      Quota
			Since      uint64
		}{}).Elem()
	}
	w.record(name, v, f.Fields)
	return name
}

func (w *schemaWriter) record(name string, v reflect.Value, fields []wireField) {
	lines := w.lines(name, v, fields, 0)
	if before, ok := w.records[name]; ok && !slices.Equal(before, lines) {
		w.t.Fatalf("the record %s has two forms:\n%v\n%v", name, before, lines)
	}
	w.records[name] = lines
}

// number formats a JSON number: a string above a double's range.
func number(n uint64) string {
	if text := strconv.FormatUint(n, 10); n <= 1<<53-1 {
		return text
	}
	return strconv.Quote(strconv.FormatUint(n, 10))
}
