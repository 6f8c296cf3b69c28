package outage

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lni/vfs"
)

// files returns the paths and contents of the files below a disk's root.
func files(t *testing.T, d *Disk) map[string]string {
	t.Helper()
	fs := vfs.NewMem()
	if err := d.Put("/", fs, "/"); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	var walk func(dir string)
	walk = func(dir string) {
		names, err := fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			info, err := fs.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.IsDir() {
				walk(path)
				continue
			}
			content := make([]byte, info.Size())
			file, err := fs.Open(path)
			if err == nil && len(content) > 0 {
				_, err = file.ReadAt(content, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			found[path] = string(content)
		}
	}
	walk("/")
	return found
}

// drawn returns all contents found in many images of a recording.
func drawn(t *testing.T, r *Recorder) (images []string) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	found := make(map[string]bool)
	rec := r.Recording()
	rec.Replay(func(at int, d *Disk, _ any) bool {
		if at == rec.Len()-1 {
			draws := slices.Clone(Extremes)
			for range 300 {
				draws = append(draws, RandomDraw(random))
			}
			for _, draw := range draws {
				f := files(t, d.Image(draw))
				var text []string
				for _, name := range slices.Sorted(maps.Keys(f)) {
					text = append(text, fmt.Sprintf("%s=%s", name, strings.ReplaceAll(f[name], "\x00", ".")))
				}
				found[strings.Join(text, " ")] = true
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(found))
}

func TestImages(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// create creates a file with content, syncDir syncs the files' directory.
	create := func(r *Recorder, name, text string) vfs.File {
		f, err := r.Create(name)
		must(err)
		if text != "" {
			_, err = f.Write([]byte(text))
			must(err)
		}
		return f
	}
	syncDir := func(r *Recorder) {
		dir, err := r.OpenDir("/a")
		must(err)
		must(dir.Sync())
	}
	for name, c := range map[string]struct {
		do   func(r *Recorder)
		want []string
	}{
		"nothing is synced": {func(r *Recorder) {
			create(r, "/a/f", "x")
		}, []string{"", "/a/f=", "/a/f=.", "/a/f=x"}},
		"the file is synced": {func(r *Recorder) {
			must(create(r, "/a/f", "x").Sync())
		}, []string{"", "/a/f=x"}},
		"the directory is synced": {func(r *Recorder) {
			create(r, "/a/f", "x")
			syncDir(r)
		}, []string{"/a/f=", "/a/f=.", "/a/f=x"}},
		"a rename after that": {func(r *Recorder) {
			must(create(r, "/a/f", "").Sync())
			syncDir(r)
			must(r.Rename("/a/f", "/a/g"))
			must(create(r, "/a/h", "").Sync())
		}, []string{"/a/f=", "/a/g=", "/a/g= /a/h="}},
		"a file is emptied": {func(r *Recorder) {
			must(create(r, "/a/f", "x").Sync())
			syncDir(r)
			create(r, "/a/f", "")
		}, []string{"/a/f=", "/a/f=x"}},
		"a sync that is forgotten": {func(r *Recorder) {
			r.Forget = func(name string) bool { return name == "/a/f" }
			must(create(r, "/a/f", "x").Sync())
			syncDir(r)
		}, []string{"/a/f=", "/a/f=.", "/a/f=x"}},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			must(fs.MkdirAll("/a", 0o700))
			r := NewRecorder(fs, nil, NewDisk("/a"))
			c.do(r)
			if got := drawn(t, r); !slices.Equal(got, c.want) {
				t.Errorf("images %q, want %q", got, c.want)
			}
		})
	}
}

func TestAWriteIsTornBetweenSectorsAndNowhereElse(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/a", 0o700); err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(fs, nil, NewDisk("/a"))
	f, err := r.Create("/a/f")
	if err != nil {
		t.Fatal(err)
	}
	const size = 4000
	if _, err := f.Write([]byte(strings.Repeat("x", size))); err != nil {
		t.Fatal(err)
	}
	kinds := make(map[int]bool)
	for _, image := range drawn(t, r) {
		content, ok := strings.CutPrefix(image, "/a/f=")
		if !ok {
			continue
		}
		for from := 0; from < len(content); from += 512 {
			part := content[from:min(from+512, len(content))]
			if strings.Trim(part, part[:1]) != "" {
				t.Fatalf("the sector at %d is torn: %q", from, part)
			}
		}
		kinds[strings.Count(content, "x")/512] = true
	}
	if len(kinds) < 7 {
		t.Errorf("only %d of 9 counts of sectors came up", len(kinds))
	}
}
