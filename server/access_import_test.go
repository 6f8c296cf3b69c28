package server_test

import (
	"crypto/sha256"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	book "github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/meta"
)

// firstRules has a token with full rights, and a grant on /public for anonymous.
func firstRules(roles ...access.Role) *meta.AccessImport {
	return &meta.AccessImport{First: true, Roles: roles,
		Entries: []book.Entry{
			{Principal: book.Principal{Kind: book.Token, Name: "root"}, Hash: sha256.Sum256([]byte("root")),
				Grants: []access.Grant{grant("root", "/")}},
			{Principal: book.Principal{Kind: book.Anonymous}, Grants: []access.Grant{grant("read", "/public")}},
		}}
}

// TestAFileOfAccessRulesIsImportedAtTheFirstStart: before the import no host accepts anonymous clients or is ready.
// Afterwards the file's tokens work on every host, and anonymous has the rights granted by the file.
func TestAFileOfAccessRulesIsImportedAtTheFirstStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := servertest.Run(servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			c.Closed, c.AccessRules = true, firstRules()
		}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		k := &keeping{T: t, Cluster: c}
		imported, refused := false, 0
		for end := time.Now().Add(time.Minute); !imported; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the rules are not imported")
			}
			for id := range shard.HostID(3) {
				ready := k.Host(id+1).Ready() == nil
				s, result := k.knock(id+1, "")
				switch {
				case result.Status == protocol.StatusSuccess:
					imported = true
					want(t, "anonymous creates", s.ask(&protocol.NodeCreate{Path: []byte("/x")}).Result.Status,
						protocol.StatusUnauthorized)
				case ready && !imported:
					t.Fatalf("host %d is ready without rules", id+1)
				default:
					refused++
				}
			}
		}
		if refused < 3 {
			t.Errorf("%d clients came before the import", refused)
		}
		for id := range shard.HostID(3) {
			within(t, "a ready host", time.Minute, func() bool { return k.Host(id+1).Ready() == nil })
			k.root = k.enterAt(id+1, "root")
		}
		k.root = k.enterAt(k.metaLeader(), "root")
		k.root.node("/prod")
		changed := k.root.must(k.root.ask(&protocol.AccessChange{Action: protocol.AccessRevokeRole,
			Principal: []byte("anonymous")})).AccessChange
		if changed.Existed {
			t.Error("anonymous had nothing")
		}
		// The cluster wins: nothing is imported again.
		time.Sleep(10 * time.Second)
		_, result := k.knock(1, "")
		want(t, "anonymous, after its rule was revoked", result.Status, protocol.StatusUnauthorized)
	})
}

// TestAHostWarnsOfAnAccessFileThatIsNotImported: host 3's file has an additional role. The leader's file is imported.
// Hosts with a different file log a warning.
func TestAHostWarnsOfAnAccessFileThatIsNotImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := make(map[shard.HostID]*logbook)
		c := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			c.Closed, c.AccessRules = true, firstRules()
			if c.ID == 3 {
				c.AccessRules = firstRules(access.Role{Name: "r",
					Rules: []access.Rule{{Path: "/", Rights: access.Read}}})
			}
			logs[c.ID] = &logbook{}
			c.Log = slog.New(slog.NewTextHandler(logs[c.ID], nil))
		}))
		time.Sleep(time.Second)
		k := &keeping{T: t, Cluster: c}
		k.root = k.enterAt(k.metaLeader(), "root")
		list := k.root.must(k.root.ask(&protocol.AccessList{Roles: true})).AccessList
		for id, log := range logs {
			warns := len(log.lines("the access file differs from the cluster's access rules"))
			if differs := (id == 3) != (len(list.Roles) == 1); (warns == 1) != differs || warns > 1 {
				t.Errorf("host %d warns %d times, of the roles %+v", id, warns, list.Roles)
			}
		}
	})
}

// TestTheFirstImportChangesNothingOnceThereAreRules: a second host's import comes too late.
func TestTheFirstImportChangesNothingOnceThereAreRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		late := &meta.AccessImport{First: true, Entries: []book.Entry{{Principal: book.Principal{Kind: book.Anonymous},
			Grants: []access.Grant{grant("root", "/")}}}}
		e, err := k.Host(1).Do(t.Context(), late, "host b", "")
		if err != nil || e.Status != protocol.StatusSuccess || e.Flags&meta.FlagExisted == 0 {
			t.Errorf("%v: %+v", err, e)
		}
		_, refused := k.knock(1, "")
		want(t, "anonymous", refused.Status, protocol.StatusUnauthorized)
	})
}

// TestTheFirstRuleClosesAnOpenCluster: the first rule must leave a principal that can change rules. Anonymous, its
// author, has no rights afterwards.
func TestTheFirstRuleClosesAnOpenCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := found(t, 1)
		anybody := k.anybody()
		anybody.node("/prod")
		hash := sha256.Sum256([]byte("ci"))
		reader := access.Principal{Name: "cn:box", Grants: []access.Grant{grant("read", "/")}}
		for what, m := range map[string]*protocol.AccessChange{
			"a token without admin": {Action: protocol.AccessCreateToken, Principal: []byte("token:ci"), Hash: hash[:],
				Grants: []access.Grant{grant("read", "/")}},
			"a role": {Action: protocol.AccessSetRole, Role: []byte("r"),
				Rules: []access.Rule{{Path: "/", Rights: access.Admin}}},
			"a grant":   grantTo("cn:box", grant("admin", "/prod")),
			"an import": {Action: protocol.AccessImport, Principals: []access.Principal{reader}},
		} {
			want(t, what, anybody.ask(m).Result.Status, protocol.StatusPreconditionFailed)
		}
		k.protect()
		want(t, "what was open", anybody.closed(patience), protocol.StatusUnauthorized)
		k.root.must(k.root.ask(&protocol.AccessChange{Action: protocol.AccessImport,
			Principals: []access.Principal{reader}}))
	})
}
