package identity

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/hosts"
)

// newDirectory creates a directory on which a host was started once.
func newDirectory(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "data")
	d := claim(t, path)
	err := errors.Join(d.Make(Expected{HostName: "a", Version: "1.0"}), d.BootstrapAlone("", 1, "a:7402", false))
	if err == nil {
		_, err = d.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Doubt(); err != nil {
		t.Skip(err)
	}
	d.Release()
	return path
}

// start starts a host on a directory, lets its log grow, and stops it.
func start(path string) error {
	d, err := Claim(path)
	if err != nil {
		return err
	}
	defer d.Release()
	if _, err = d.Load(Expected{HostName: "a", Version: "1.0"}); err == nil {
		_, err = d.Begin()
	}
	end := d.LogEnd()
	for range 2 {
		if end.Offset += 100; err == nil {
			err = d.Anchor(end, false)
		}
	}
	if err == nil {
		err = d.Anchor(end, true)
	}
	return err
}

// shell runs a command with the directory and a second path, or skips the test if the program is missing.
func shell(t *testing.T, line, dir, other string) {
	t.Helper()
	program, _, _ := strings.Cut(line, " ")
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = append(os.Environ(), "DIR="+dir, "OTHER="+other)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// TestWhatIsACopy: a directory is moved elsewhere, or is copied, used on, and restored.
func TestWhatIsACopy(t *testing.T) {
	for _, c := range []struct {
		take string // from $DIR to $OTHER
		back string // reverse, after more use; empty: started at the new path
		copy bool
	}{
		{"cp -a $DIR $OTHER", "", true},
		{"cp -a $DIR $OTHER", "cp -a $OTHER/. $DIR/", true},
		{"cp -r $DIR $OTHER", "cp -r $OTHER/. $DIR/", true},
		{"cp -a $DIR $OTHER", "rm -r $DIR && cp -a $OTHER $DIR", true},
		{"cp -a $DIR $OTHER", "rm -r $DIR && mv $OTHER $DIR", true},
		{"rsync -a $DIR/ $OTHER/", "", true},
		{"rsync -a $DIR/ $OTHER/", "rsync -a $OTHER/ $DIR/", true},
		{"rsync -a $DIR/ $OTHER/", "rsync -a --delete --inplace $OTHER/ $DIR/", true},
		{"tar -C $DIR -cf $OTHER .", "tar -C $DIR -xf $OTHER", true},
		{"tar -C $DIR -cf $OTHER .", "tar -C $DIR --overwrite -xf $OTHER", true},
		{"mv $DIR $OTHER", "", false},
		{"mv $DIR $OTHER", "mv $OTHER $DIR", false},
		{"cp -a $DIR $OTHER", "true", false}, // an unused copy does no harm
		{"chmod -R g+w $DIR && touch $DIR/*", "true", false},
		{"ln $DIR/anchor.json $OTHER", "true", false},
	} {
		t.Run(c.take+"; "+c.back, func(t *testing.T) {
			dir := newDirectory(t)
			other := dir + ".other"
			at := other
			shell(t, c.take, dir, other)
			if c.back != "" {
				if _, err := os.Stat(dir); err == nil {
					if err := start(dir); err != nil {
						t.Fatal(err)
					}
				}
				shell(t, c.back, dir, other)
				at = dir
			}
			for range 2 { // the refusal changes nothing
				err := start(at)
				if errors.Is(err, ErrCopied) != c.copy || (err != nil) != c.copy {
					t.Fatalf("it starts with: %v", err)
				}
				if err != nil && !strings.Contains(err.Error(), "signalbox host adopt-data-dir "+at) {
					t.Errorf("it does not say what to type: %v", err)
				}
			}
		})
	}
}

// TestACopyIsTakenWhereItsOwnerSaysSo: a copy of a stopped host, and, with an extra flag, of a running one.
func TestACopyIsTakenWhereItsOwnerSaysSo(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		dir := newDirectory(t)
		d := claim(t, dir)
		end := hosts.LogEnd{Segment: 3, Offset: 4711}
		if err := d.Anchor(end, stopped); err != nil {
			t.Fatal(err)
		}
		d.Release()
		other := dir + ".other"
		if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		here, there := claim(t, dir), claim(t, other)
		if was, err := here.Moved(false); was || err != nil {
			t.Errorf("where it always was it was moved: %v, %v", was, err)
		}
		was, err := there.Moved(false)
		if !was || errors.Is(err, ErrRunning) != !stopped {
			t.Errorf("stopped %v: %v, %v", stopped, was, err)
		}
		if was, err = there.Moved(true); was != !stopped || err != nil {
			t.Errorf("stopped %v, said to be killed: %v, %v", stopped, was, err)
		}
		there.Release()
		there = claim(t, other)
		if _, err := there.Load(Expected{HostName: "a", Version: "1.0"}); err != nil || there.LogEnd() != end {
			t.Errorf("moved, it has its log up to %v: %v", there.LogEnd(), err)
		}
	}
}

// TestNothingIsRefusedWhereNothingIsKnown: a directory from an older build, and file systems without stable inodes or
// creation times.
func TestNothingIsRefusedWhereNothingIsKnown(t *testing.T) {
	dir := newDirectory(t)
	if err := os.Remove(filepath.Join(dir, AnchorName)); err != nil {
		t.Fatal(err)
	}
	if err := start(dir); err != nil {
		t.Error(err)
	}
	put(t, dir, AnchorName, nil)
	if err := start(dir); err != nil {
		t.Error(err)
	}
	put(t, dir, AnchorName, []byte("{}"))
	d := claim(t, dir)
	if _, err := d.Load(Expected{HostName: "a", Version: "1.0"}); err != nil || !errors.Is(d.Doubt(), ErrDamaged) {
		t.Errorf("a record that is damaged: %v, and the doubt is %v", err, d.Doubt())
	}
	one := fileID{"ext4", 7, 70}
	for _, c := range []struct {
		a, b  fileID
		other bool
	}{
		{one, one, false},
		{one, fileID{"ext4", 8, 70}, true},
		{one, fileID{"ext4", 7, 71}, true},
		{one, fileID{"ext4", 7, 0}, false}, // unsupported by the kernel
		{one, fileID{"ext4", 8, 0}, true},
		{one, fileID{}, false},
		{fileID{}, fileID{}, false},
	} {
		if c.a.other(c.b) != c.other || c.b.other(c.a) != c.other {
			t.Errorf("%v and %v are two files: %v", c.a, c.b, !c.other)
		}
	}
}
