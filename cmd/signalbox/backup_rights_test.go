package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/backup"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/restore"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/governor"
)

// TestARestoreSaysWhichRightsComeBack: a restore brings back a token that was revoked after the backup. So restore
// lists all tokens, and without a terminal a flag must decide about the tokens.
func TestARestoreSaysWhichRightsComeBack(t *testing.T) {
	p := newPlace(t)
	p.serve(t).awaitReady()
	x := newTool(t, p.Client).close()
	dir := t.TempDir()
	file, secret := filepath.Join(dir, "a.backup"), filepath.Join(dir, "gone.token")
	x.ok("access", "role", "set", "deploy", "--rule", "read,write:/")
	x.ok("access", "token", "create", "gone", "--grant", "deploy:/eu", "--out", secret)
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("the file of the token: %v, %v", info, err)
	}
	x.fails(cli.ExitExists, "gone", "access", "token", "create", "gone", "--out", filepath.Join(dir, "again.token"))
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("a token that was not made leaves %v", got)
	}
	x.ok("backup", "save", file)
	x.ok("access", "token", "revoke", "gone")
	for _, listed := range []string{"token:gone  deploy:/eu", "role deploy", "--access keep", "are restored"} {
		x.fails(cli.ExitUsage, listed, "backup", "restore", file, "--data-dir", filepath.Join(dir, "none"))
	}
	x.fails(cli.ExitUsage, "--access must be keep or drop", "backup", "restore", file, "--data-dir",
		filepath.Join(dir, "none"), "--access", "some")
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("something was made without an answer")
	}
	for flag, want := range map[string]int{"keep": 1, "drop": 0} {
		made := filepath.Join(dir, flag)
		out := x.ok("backup", "restore", file, "--data-dir", made, "--access", flag, "-o", "json")
		o := parsed[backup.Made](t, out)
		if len(o.Principals) < want || strings.Contains(out, "token:gone") != (want > 0) {
			t.Errorf("%s: %s", flag, out)
		}
		s, err := restore.Read(t.Context(), made, filepath.Join(dir, flag+"-scratch"), "1")
		if err != nil {
			t.Fatal(err)
		}
		book := s.Meta.Rights()
		if there := book.Record(access.Principal{Kind: access.Token, Name: "gone"}) != nil; there != (want > 0) {
			t.Errorf("%s: the token is there: %t", flag, there)
		}
		if flag == "drop" && (book.Open() || len(book.Records()) != 0 || len(book.Roles()) == 0) {
			t.Errorf("dropped, the rights are %+v", book.Records())
		}
	}
}

// TestRestoreWithoutRightsAsksNothing: a backup without grants, tokens and roles is restored without --access and
// without a terminal, and the new cluster is as open as the old cluster.
func TestRestoreWithoutRightsAsksNothing(t *testing.T) {
	p := newPlace(t)
	p.serve(t).awaitReady()
	x := newTool(t, p.Client)
	dir := t.TempDir()
	file, made := filepath.Join(dir, "a.backup"), filepath.Join(dir, "made")
	x.ok("backup", "save", file)
	x.ok("backup", "restore", file, "--data-dir", made)
	s, err := restore.Read(t.Context(), made, filepath.Join(dir, "scratch"), "1")
	if err != nil {
		t.Fatal(err)
	}
	if !s.Meta.Rights().Open() {
		t.Error("the new cluster has rights that the backup lacks")
	}
}

// TestReasonsHaveTheCodesOfTheGovernor: clients depend on some codes.
func TestReasonsHaveTheCodesOfTheGovernor(t *testing.T) {
	if admin.CodeDue != string(governor.CodeDue) || admin.CodeAway != string(governor.CodeAway) {
		t.Errorf("%s, %s", admin.CodeDue, admin.CodeAway)
	}
	for _, rule := range governor.Planner().Rules {
		if rule.Name == admin.RuleLeaders {
			return
		}
	}
	t.Error("no rule spreads leaders")
}
