package server_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/rights"
)

// TestATokenOfSomeNamesSeesTheSessionsThatHaveToDoWithThem, of all shards, and of others no more than that they are
// there.
func TestATokenOfSomeNamesSeesTheSessionsThatHaveToDoWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		node := k.root.node("/jobs")
		part := grant("write", "/jobs")
		part.Object = "mine-"
		k.create(k.root, "some", 0, part)
		k.create(k.root, "all", 0, grant("read", "/jobs"))
		k.create(k.root, "other", 0, grant("write", "/jobs"))
		some, all := k.enterAt(1, "some"), k.enterAt(1, "all")
		start := func(by *speaker, description, name string) uint64 {
			a := by.must(by.ask(&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 60_000,
				Key: []byte("key"), Description: []byte(description)})).SessionStart
			s := &started{s: by, id: a.SessionID, node: node}
			if name != "" {
				s.acquire(name, 1, 60_000, true)
			}
			return s.id
		}
		other := k.enterAt(1, "other")
		secret := start(other, "secret", "theirs")
		idle := start(other, "idle", "")
		ids := []uint64{secret, idle, start(other, "owns", "mine-1"), start(other, "waits", "mine-1"),
			start(some, "own", "")}
		listed := func(by *speaker) (list []string) {
			a := by.must(by.ask(&protocol.SessionList{NodeID: node, ShardID: 1})).SessionList
			for s := range a.Sessions.All() {
				list = append(list, string(s.Description))
			}
			slices.Sort(list)
			return list
		}
		described := func(by *speaker) (list []string) {
			for _, id := range ids {
				s := by.must(by.ask(&protocol.SessionDescribe{SessionID: id})).SessionDescribe.Session
				if string(s.Description) != "" != (len(s.Client.Address) > 0) {
					t.Errorf("the session %q has the client %+v", s.Description, s.Client)
				}
				list = append(list, string(s.Description))
			}
			return list
		}
		want(t, "who may see all lists", strings.Join(listed(all), " "), "idle own owns secret waits")
		want(t, "who may see all describes", strings.Join(described(all), " "), "secret idle owns waits own")
		want(t, "who may see some lists", strings.Join(listed(some), " "), "own owns waits")
		want(t, "who may see some describes", strings.Join(described(some), ","), ",,owns,waits,own")
	})
}

// TestRightsAreNotGivenWhereNoNodeCanBe, and what a log gave there can be taken.
func TestRightsAreNotGivenWhereNoNodeCanBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		k.create(k.root, "ci", 0, grant("read", "/prod"))
		part := strings.Repeat("x", 256)
		for path, hint := range map[string]string{
			"/prod/b/../a": "did you mean /prod/a?", "/prod/.": "did you mean /prod?", "/..": "write it like",
			"//": "write it like", "/prod/": "did you mean /prod?", "/prod//a": "did you mean /prod/a?",
			"prod": "did you mean /prod?", "": "write it like", "/prod/\x07": "0x07", "/a b": "0x20",
			"/" + part: "256 bytes long", strings.Repeat("/x", 33): "more than 32 parts",
		} {
			for what, m := range map[string]*protocol.AccessChange{
				"a grant": grantTo("token:ci", grant("read", path)),
				"a role": {Verb: protocol.AccessSetRole, Role: []byte("r"),
					Rules: []rights.Rule{{Path: path, Rights: rights.See}}},
				"a token": {Verb: protocol.AccessCreateToken, Principal: []byte("token:x"), Hash: make([]byte, 32),
					Grants: []rights.Grant{grant("read", path)}},
			} {
				a := k.root.ask(m).Result
				if a.Status != protocol.StatusBadRequest || !strings.Contains(a.Message, hint) {
					t.Errorf("%s on %.40q: %v %s", what, path, a.Status, a.Message)
				}
			}
		}
		revoke := grantTo("token:ci", grant("read", "/prod/b/../a"))
		revoke.Verb = protocol.AccessRevokeRole
		want(t, "taking what is not given", k.root.ask(revoke).Result.Status, protocol.StatusSuccess)
		k.root.must(k.root.ask(grantTo("token:ci", grant("read", "/"))))
	})
}
