package tidy

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the prefix of the tree's import paths.
const module = "github.com/signalbox/signalbox/"

// floors lists the permitted imports of each top-level room. Arrows point down only.
var floors = map[string][]string{
	"internal": {},
	"protocol": {"internal"},
	"shard":    {"internal", "protocol"},
	"server":   {"internal", "protocol", "shard"},
	"client":   {"internal", "protocol"},
	"gateway":  {"client", "internal", "protocol"},
	"loadgen":  {"client", "gateway", "internal", "protocol"},
	"bench":    {"client", "internal", "loadgen", "protocol", "server", "shard", "test"},
	"test":     {"client", "internal", "loadgen", "protocol", "server", "shard"},
	"cmd":      {"client", "gateway", "internal", "loadgen", "protocol", "server", "shard"},
	"deploy":   {},
	"docs":     {"server"},
	".ci":      {},
}

// clientFloors are the rooms under client/internal from the bottom up. A room may import only earlier rooms, and never
// the package client.
var clientFloors = []string{"option", "failure", "lifecycle", "retry", "conn", "cluster", "view", "session", "core"}

// TestArrowsOfTheClientPointDown: the client's rooms are layered in one order.
func TestArrowsOfTheClientPointDown(t *testing.T) {
	for _, s := range sources(t) {
		room, inside := strings.CutPrefix(s.path, "client/internal/")
		room, _, _ = strings.Cut(room, "/")
		floor := slices.Index(clientFloors, room)
		if !inside || floor < 0 || s.test() {
			continue
		}
		for _, spec := range s.file.Imports {
			what, client := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"client")
			to := slices.Index(clientFloors, strings.TrimPrefix(what, "/internal/"))
			// view and session are on the same layer.
			if client && (to < 0 || to >= floor || clientFloors[to] == "view" && room == "session") {
				t.Errorf("%s:%d: %s must not import client%s", s.path, s.line(spec.Pos()), room, what)
			}
		}
	}
}

// roomsOfKinds are the rooms below protocol that declare the types for an object kind, and their field coder.
var roomsOfKinds = []string{
	"protocol/health/", "protocol/field/", "protocol/host/", "protocol/process/", "protocol/access/",
	"protocol/rollout/", "protocol/session/",
}

// TestRoomsOfKindsStandOnTheCoderAlone: a type shared by every layer must not add layers or dependencies.
func TestRoomsOfKindsStandOnTheCoderAlone(t *testing.T) {
	for _, s := range sources(t) {
		of := func(room string) bool { return strings.HasPrefix(s.path, room) }
		if s.test() || !slices.ContainsFunc(roomsOfKinds, of) {
			continue
		}
		for _, spec := range s.file.Imports {
			what := strings.Trim(spec.Path.Value, `"`)
			first, _, _ := strings.Cut(what, "/")
			if strings.Contains(first, ".") && what != module+"protocol/field" && what != module+"protocol/level" {
				t.Errorf("%s:%d: a room of a kind must not import %s", s.path, s.line(spec.Pos()), what)
			}
		}
	}
}

// forTests may be imported by tests only, from any layer.
var forTests = []string{
	"test/", "server/servertest", "server/handle/handletest", "server/transport/conntest",
	"shard/raftlog/raftlogtest", "protocol/level/leveltest",
}

// conformance is the only rig in the binary: `signalbox conformance` uses it to test clients in other languages.
const conformance = module + "test/conformance"

// TestArrowsPointDown: a room may import lower rooms, and never higher ones.
func TestArrowsPointDown(t *testing.T) {
	for _, s := range sources(t) {
		from, _, _ := strings.Cut(s.path, "/")
		allowed, known := floors[from]
		if !known {
			t.Errorf("%s: the room %s is not on the plan of floors", s.path, from)
			continue
		}
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			what, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			to, _, _ := strings.Cut(what, "/")
			if to != from && !slices.Contains(allowed, to) && !s.test() && !rig(s.path) && imported != conformance {
				t.Errorf("%s:%d: %s must not import %s", s.path, s.line(spec.Pos()), from, what)
			}
			if !s.test() && !rig(s.path) && from != "bench" && rigOnly(what) && imported != conformance {
				t.Errorf("%s:%d: %s is for tests", s.path, s.line(spec.Pos()), what)
			}
		}
	}
}

// rig reports whether a file is test infrastructure. The module bench, which compares with peers, may use it.
func rig(file string) bool {
	for _, folder := range forTests {
		if strings.HasPrefix(file, folder) {
			return true
		}
	}
	return false
}

// rigOnly reports whether a package may be imported by tests and rigs alone.
func rigOnly(what string) bool {
	for _, folder := range forTests {
		if strings.HasPrefix(what+"/", strings.TrimSuffix(folder, "/")+"/") {
			return true
		}
	}
	return false
}
