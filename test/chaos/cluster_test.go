//go:build linux

package chaos

import "testing"

func TestMessagesOfAKindAreCountedTogether(t *testing.T) {
	c := &cluster{errors: make(map[string]int)}
	c.countErrors(`level=INFO msg="not counted"
level=ERROR msg="save: write /tmp/1/a/snapshot-0000000000001D29-3.generating/x: no space left on device\n stack:" host=a
level=ERROR msg="save: write /tmp/22/b/snapshot-0000000000001DFF-1.generating/x: no space left on device" host=b
level=ERROR msg=short
`)
	for text, want := range map[string]int{"save: write ...x: no space left on device": 2, "short": 1} {
		if c.errors[text] != want {
			t.Errorf("%q was logged %d times, want %d: %v", text, c.errors[text], want, c.errors)
		}
	}
	if len(c.errors) != 2 {
		t.Errorf("%v", c.errors)
	}
}
