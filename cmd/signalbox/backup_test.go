package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/backup"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// names returns the file names in a directory.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestABackupIsSavedVerifiedAndShown: a running host's backup goes to a file that only the user may read, or to
// standard output.
func TestABackupIsSavedVerifiedAndShown(t *testing.T) {
	x, node := sharedTool(t)
	x.ok("semaphore", "create", node, "flags", "--limit", "1", "--data", "on")
	dir := t.TempDir()
	file := filepath.Join(dir, "a.backup")
	saved := parsed[backup.Saved](t, x.ok("backup", "save", file, "-o", "json"))
	if saved.Shards < 1 || saved.Cluster == "" || saved.Path != file || saved.Bytes == 0 {
		t.Errorf("%+v", saved)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || len(names(t, dir)) != 1 {
		t.Errorf("%v, %v, in %v", info.Mode(), err, names(t, dir))
	}
	x.ok("backup", "verify", file)
	if got := x.ok("backup", "show", file, node, "flags"); got != "on" {
		t.Errorf("its data is %q", got)
	}
	if got := x.runWith(x.ok("backup", "save", "-"), "backup", "show", "-"); !strings.Contains(got.out, node) {
		t.Errorf("from the standard input: %+v", got)
	}
	none := filepath.Join(dir, "none")
	x.fails(cli.ExitFailed, "signalbox: cannot create "+none+"/a: no such file or directory; the directory "+none+
		" must exist and be writable\n", "backup", "save", none+"/a")
	x.fails(cli.ExitNotFound, "signalbox: cannot read the backup "+none+": no such file or directory; give the path of",
		"backup", "verify", none)
	x.fails(cli.ExitUsage, "requires --interval", "backup", "save", file, "--metrics-listen", "127.0.0.1:0")
	x.fails(cli.ExitUsage, "must be a directory", "backup", "save", file, "--keep", "3")
	x.fails(cli.ExitNotFound, "cannot save backups in "+none+": no such file or directory; create the directory",
		"backup", "save", none, "--interval", "1h")
	x.fails(cli.ExitUsage, "must be a directory", "backup", "save", file, "--interval", "1h")
	x.fails(cli.ExitUsage, "not a size", "backup", "save", file, "--max-rate", "fast")
	x.ok("backup", "save", file, "--max-rate", "0")
}

// TestABackupThatFailsLeavesNoFile: an existing backup is not replaced either.
func TestABackupThatFailsLeavesNoFile(t *testing.T) {
	skipShort(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.backup")
	if err := os.WriteFile(file, []byte("the last one"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := func(w io.Writer) error {
		_, _ = w.Write([]byte("half of one"))
		return os.ErrDeadlineExceeded
	}
	if err := cli.WriteWhole(file, broken); err == nil {
		t.Error("it is a success")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "the last one" || len(names(t, dir)) != 1 {
		t.Errorf("%q, %v, in %v", got, err, names(t, dir))
	}
}

// TestASeriesOfBackups: the first is saved at once, leavings are removed, and metrics say when.
func TestASeriesOfBackups(t *testing.T) {
	x, _ := sharedTool(t)
	dir := t.TempDir()
	left := filepath.Join(dir, "signalbox-20260101T000000Z.backup.123"+cli.PartialSuffix)
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := x.start("backup", "save", dir, "--interval", "1h", "--metrics-listen", "127.0.0.1:0")
	s.says("data shards of cluster")
	if got := names(t, dir); len(got) != 1 || !strings.HasSuffix(got[0], ".backup") {
		t.Errorf("there are %v", got)
	}
	at := regexp.MustCompile(`http://\S+`).FindString(s.Errors())
	page, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	if err != nil || !regexp.MustCompile(`(?m)^signalbox_backup_last_success_timestamp_seconds [1-9]`).Match(text) ||
		!strings.Contains(string(text), "signalbox_backups_saved_total 1\n") {
		t.Errorf("%v: %s", err, text)
	}
	s.endsBy(os.Interrupt, 0)

	older := filepath.Join(dir, "signalbox-20260101T000000Z.backup")
	if err := os.WriteFile(older, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.ok("backup", "save", dir, "--keep", "1") // as from cron
	if got := names(t, dir); len(got) != 1 || got[0] == filepath.Base(older) {
		t.Errorf("of one that is kept there are %v", got)
	}
}

// TestASeriesGoesOnAfterABackupThatFailed: the backup directory is missing for a while.
func TestASeriesGoesOnAfterABackupThatFailed(t *testing.T) {
	x, _ := sharedTool(t)
	dir := filepath.Join(t.TempDir(), "backups")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := x.start("backup", "save", dir, "--interval", "1s")
	s.says("data shards of cluster")
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	s.remarks("the backup failed, next attempt in 1s: ")
	before := strings.Count(s.Output(), "data shards of cluster")
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	s.awaitOutput("it saves again", func() bool {
		return strings.Count(s.Output(), "data shards of cluster") > before
	})
	s.endsBy(os.Interrupt, 0)
}
