package http

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	processkind "github.com/signalbox/signalbox/protocol/process"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/hosts"
	processrules "github.com/signalbox/signalbox/shard/process"
)

// TestEveryAnswerIsBounded: an answer comes in pages, ends at a page's size, is a stream, or has a fixed bound. A
// read's answer, with the hosts' data for the answer, fits in one party's memory for answers. A new route outside these
// groups needs a line here.
func TestEveryAnswerIsBounded(t *testing.T) {
	// These lists end at a page's size, and have no cursor.
	ending := map[string]string{
		"/v1/contention": "more", "/v1/session": "more_holdings", "/v1/search": "more", "/v1/health": "more",
		"/v1/access/denials": "more", "/v1/cluster/audit": "more", "/v1/join-tokens": "more",
		"/v1/rollout/actions": "more",
		"/v1/process/actions": "more", "/v1/why": "more", "/v1/access/who-can": "more",
	}
	// Streams write parts, and keep in memory the given number of bytes for all streams of a kind, or one part.
	streams := map[string]int{"/v1/events": viewBytes, "/v1/backup": protocol.PageBytes}
	data := []byte(longText(protocol.MaxDataBytes))
	wholeLoads := slices.Repeat([]ClusterLoad{{longLoad(), math.MaxInt}}, loadKept)
	frame := int(protocol.FrameLimits(protocol.MaxDataBytes).AnswerFrameBytes)
	figures := map[string]struct {
		bytes   int // in JSON
		largest any
	}{
		"/v1/config":          {6<<20 + 1<<10, operation.ConfigValue{Value: data}},
		"/v1/election/leader": {6<<20 + 1<<10, operation.Leadership{Leader: election.Leader{Data: data}}},
		"/v1/rollout":         {23 << 20, largestRollout()},
		"/v1/process":         {16 << 20, largestProcess()},
		"/v1/cluster":         {16 << 20, largestCluster()},
		"/v1/cluster/plan":    {2 << 20, &admin.Plan{Steps: framed[host.Step](), Reasons: framed[host.Reason]()}},
		"/v1/slots":           {22 << 20, largestSlots()},
		"/v1/rebalance":       {1 << 20, largestRebalancing()},
		"/v1/shard/add": {32 << 10, &operation.AddedShards{
			Shards: slices.Repeat([]uint64{math.MaxUint64}, protocol.MaxPageItems)}},
		"/v1/hosts":        {16 << 20, largestHosts()},
		"/v1/host/load":    {128 << 10, operation.List[Load]{Items: slices.Repeat([]Load{longLoad()}, loadKept)}},
		"/v1/cluster/load": {128 << 10, operation.List[ClusterLoad]{Items: wholeLoads}},
		"/v1/cluster/leaders": {32 << 10, operation.List[LeaderChange]{Items: slices.Repeat([]LeaderChange{{
			At: longLoad().At, Shard: math.MaxUint64, Leader: math.MaxUint64, Term: math.MaxUint64,
		}}, leaderChangesKept)}},
		"/v1/cluster/traffic":   {256 << 10, largestTraffic()},
		"/v1/join-token/create": {320 << 10, largestJoining()},
	}
	for _, r := range table() {
		var of []string
		if r.answer != nil {
			of = fieldsOf(r.answer)
		}
		figure, isFigure := figures[r.path]
		switch asks := fieldsOf(r.request); {
		case r.streams != "":
			if streams[r.path] == 0 {
				t.Errorf("%s: how much memory does the stream take?", r.path)
			}
		case slices.Contains(of, "cursor") && slices.Contains(asks, "cursor"):
			if !slices.Contains(of, "more") || !slices.Contains(asks, "limit") {
				t.Errorf("%s: pages have more and limit", r.path)
			}
		case ending[r.path] != "":
			if !slices.Contains(of, ending[r.path]) {
				t.Errorf("%s: the answer does not say whether it is whole", r.path)
			}
		case isFigure:
			length, err := apijson.Length(figure.largest)
			if err != nil || reflect.TypeOf(figure.largest) != r.answer {
				t.Errorf("%s: %v, %v", r.path, r.answer, err)
			}
			if length > figure.bytes || length < figure.bytes/2 {
				t.Errorf("%s: the largest answer has %d bytes, not %d", r.path, length, figure.bytes)
			}
			received := max(frame, figure.bytes/len(`\u0001`))
			if !r.changes() && figure.bytes+receivedBytes*received > answerBytes/2 {
				t.Errorf("%s: %d bytes, of %d that hosts send, are too many", r.path, figure.bytes, received)
			}
		case !flat(r.answer):
			t.Errorf("%s %s does not say how its answer is bounded", r.method, r.path)
		}
		delete(ending, r.path)
		delete(streams, r.path)
		delete(figures, r.path)
	}
	if len(ending)+len(streams)+len(figures) > 0 {
		t.Errorf("no routes: %v %v %d", ending, streams, len(figures))
	}
}

// fieldsOf returns the JSON names of a structure's fields.
func fieldsOf(t reflect.Type) (names []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, f := range apijson.Fields(t) {
		names = append(names, f.Name)
	}
	return names
}

// flat reports whether a type has neither lists nor data, only numbers and short texts such as a node's path.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return flat(t.Elem())
	case reflect.Slice, reflect.Map, reflect.Interface:
		return false
	case reflect.Struct:
		for _, f := range apijson.Fields(t) {
			if !flat(f.Of) {
				return false
			}
		}
	}
	return true
}

// longText is a text with characters that each take six bytes in JSON.
func longText(bytes int) string { return strings.Repeat("\x01", bytes) }

// many returns n items with the largest size.
func many[T any, P interface {
	*T
	field.Value
}](n int) []T {
	items := make([]T, n)
	for i := range items {
		P(&items[i]).Fields(largest{})
	}
	return items
}

// framed returns as many largest items as a host puts into half a page.
func framed[T any, P interface {
	*T
	field.Value
}]() (items []T) {
	for size := 0; size <= protocol.PageBytes/2; {
		items = append(items, many[T, P](1)...)
		size += protocol.Size(P(&items[len(items)-1]))
	}
	return items
}

func largestRollout() *rollout.State {
	s := &many[rollout.State](1)[0]
	s.Reasons = many[rolloutkind.BlockReason](2 * rolloutkind.MaxLocations)
	for _, l := range many[rolloutkind.LocationRow](rolloutkind.MaxLocations) {
		s.Locations, s.Spec.Locations = append(s.Locations, l.LocationState), append(s.Spec.Locations, l.Location)
	}
	s.Versions = many[rollout.Version](rolloutkind.MaxKeep + 3*rolloutkind.MaxLocations)
	for i := range s.Versions {
		s.Versions[i].Payload = nil
	}
	return s
}

func largestProcess() *process.State {
	s := &process.State{Overview: many[processkind.Overview](1)[0]}
	s.Members = many[process.MemberState](processkind.MaxMembers)
	s.Results = make([]process.Result, processkind.MaxKeep)
	s.Reasons = many[processkind.BlockReason](processrules.MaxReasons + 1)
	return s
}

// largestCluster fills a frame: the largest number of hosts, and replicas of all shards.
func largestCluster() *admin.Cluster {
	c := &admin.Cluster{Hosts: many[host.Host](hosts.MaxSpreadHosts), Policy: many[host.Policy](1)[0]}
	room := int(protocol.FrameLimits(protocol.MaxDataBytes).AnswerFrameBytes) - len(c.Hosts)*protocol.Size(&c.Hosts[0])
	replica := many[host.Replica](1)[0]
	replicas := slices.Repeat([]host.Replica{replica}, room/hosts.MaxShards/protocol.Size(&replica))
	for range hosts.MaxShards {
		c.Shards = append(c.Shards, host.Shard{Replicas: replicas})
	}
	return c
}

func largestHosts() (l operation.List[HostStatus]) {
	text := longText(protocol.MaxMessageBytes)
	status := client.HostStatus{
		Address: longText(host.MaxAddress), Name: longText(host.MaxName), LevelHeldBy: text, Refusal: text,
	}
	n := uint64(math.MaxUint64)
	status.Shards = slices.Repeat([]client.ShardStatus{{ID: n, Leader: n, Term: n, AppliedIndex: n, CommitLag: n,
		Sessions: n, Semaphores: n, Waiters: n, Rollouts: n, Processes: n}}, hosts.MaxShards)
	l.Items = slices.Repeat([]HostStatus{{HostStatus: status}}, hosts.MaxSpreadHosts)
	return l
}

// largestSlots has another owner, and a move, for every slot.
func largestSlots() *admin.Slots {
	return &admin.Slots{
		Version: math.MaxUint64,
		Ranges: slices.Repeat([]admin.SlotRange{{First: protocol.Slots - 1, Last: protocol.Slots - 1,
			Shard: math.MaxUint64, Generation: math.MaxUint64}}, protocol.Slots),
		Moves: many[host.SlotMove](protocol.Slots),
	}
}

// largestRebalancing has more shards than a cluster, as many as a message has.
func largestRebalancing() *admin.Rebalancing {
	text := longText(protocol.MaxOperatorTextBytes)
	return &admin.Rebalancing{Shards: many[host.ShardSlots](protocol.MaxPageItems),
		Planned: many[host.PlannedMoves](protocol.MaxPageItems), Author: text, Reason: text, Age: math.MaxInt64}
}

func largestTraffic() *admin.Traffic {
	return &admin.Traffic{
		Clients: slices.Repeat([]admin.ClientTraffic{{Name: longText(protocol.MaxClientNameBytes),
			Principal: longText(protocol.MaxPrincipalBytes), Address: longText(protocol.MaxAddressBytes),
			PerSecond: math.MaxFloat64}}, admin.MaxTraffic),
		Nodes: slices.Repeat([]admin.NodeTraffic{{Node: longText(protocol.MaxPathBytes), PerSecond: math.MaxFloat64}},
			admin.MaxTraffic),
	}
}

func longLoad() Load {
	const number, bytes = -math.MaxFloat64, math.MaxUint64
	return Load{longTime, number, number, number, number, number, bytes, bytes}
}

func largestJoining() *admin.JoinInfo {
	return &admin.JoinInfo{
		Token: many[host.JoinToken](1)[0], Authority: []byte(longText(protocol.MaxHashBytes)),
		Addresses: slices.Repeat([]string{longText(host.MaxAddress)}, hosts.MaxSpreadHosts),
	}
}

// largest is a field.Coder that reads each field's largest value.
type largest struct{}

func (largest) Text(_ string, v *string, most int)      { *v = longText(most) }
func (largest) Bytes(_ string, v *[]byte, most int)     { *v = []byte(longText(most)) }
func (largest) Number(_ string, v *uint64)              { *v = math.MaxUint64 }
func (largest) Count(_ string, v *int)                  { *v = math.MaxInt }
func (largest) Millis(_ string, v *time.Duration)       { *v = math.MaxInt64 }
func (largest) Flag(_ string, v *bool)                  { *v = true }
func (largest) Small(_ string, _, end uint8) uint8      { return end - 1 }
func (l largest) Record(_ string, f func(field.Coder))  { f(l) }
func (largest) Wall(_ string, v *field.Timestamp)       { v.Wall = longTime }
func (largest) Left(_ string, v *time.Duration) bool    { *v = math.MaxInt64; return true }
func (largest) Reading() bool                           { return true }
func (largest) Form() field.Form                        { return field.Wire }
func (largest) Numbers(_ string, v *[]uint64, most int) { *v = make([]uint64, most) }

func (largest) Words(_ string, v *[]string, most, each int) {
	*v = nil
	for range most {
		*v = append(*v, longText(each))
	}
}

func (l largest) Items(_ string, _, most int, size func(int), item func(field.Coder, int)) {
	size(most)
	for i := range most {
		item(l, i)
	}
}

func (largest) Moment(_ string, v *field.Timestamp) {
	*v = field.Timestamp{Happened: true, Ago: math.MaxInt64, Time: math.MaxInt64, Wall: longTime}
}

// longTime is a time with the longest text.
var longTime = time.Date(2026, 12, 31, 23, 59, 59, 999999999, time.UTC)
