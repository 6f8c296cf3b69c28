package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestThoseWhoChangeTheContextsAtOnceLoseNothing(t *testing.T) {
	s := Streams{Environment: []string{"HOME=" + t.TempDir()}}
	const many = 20
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			err := s.ChangeContexts(func(c *Contexts) error {
				return c.Set(fmt.Sprint("c", i), Context{settingEndpoints: "a:1"})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c, err := s.LoadContexts()
	if err != nil || len(c.Contexts) != many {
		t.Errorf("%d contexts are left of %d, %v", len(c.Contexts), many, err)
	}
}

func TestAFileOfContextsBehindALinkStaysThere(t *testing.T) {
	folder := t.TempDir()
	link, file := filepath.Join(folder, "link.yaml"), filepath.Join(folder, "elsewhere", "file.yaml")
	if err := os.Symlink(filepath.Join("elsewhere", "file.yaml"), link); err != nil {
		t.Fatal(err)
	}
	s := Streams{Environment: []string{ContextsVariable + "=" + link}}
	for _, name := range []string{"first", "second"} {
		if err := s.ChangeContexts(func(c *Contexts) error {
			return c.Set(name,
				Context{settingEndpoints: "a:1"})
		}); err != nil {
			t.Fatal(err)
		}
	}
	if target, err := os.Readlink(link); err != nil || target != filepath.Join("elsewhere", "file.yaml") {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if _, err := os.Lstat(file); err != nil {
		t.Error(err)
	}
	if c, err := s.LoadContexts(); err != nil || len(c.Contexts) != 2 || c.Current != "first" {
		t.Errorf("%+v, %v", c, err)
	}
}
