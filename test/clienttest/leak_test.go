package clienttest

import (
	"strings"
	"testing"
	"time"
)

func TestAGoroutineThatIsLeftIsFound(t *testing.T) {
	if left := leaked(leakPatience); len(left) != 0 {
		t.Fatalf("before: %s", strings.Join(left, "\n\n"))
	}
	stop := make(chan struct{})
	go lingering(stop)
	if left := leaked(20 * time.Millisecond); len(left) != 1 || !strings.Contains(strings.Join(left, ""), "lingering") {
		t.Errorf("with one: %s", strings.Join(left, "\n\n"))
	}
	close(stop)
}

func lingering(stop chan struct{}) { <-stop }

func TestAStageLeavesNothingBehind(t *testing.T) {
	t.Run("outside of a bubble", func(t *testing.T) {
		g := New(t)
		_, err := g.Session().Semaphore("x").Describe(t.Context())
		if err == nil {
			t.Error("what is not there is described")
		}
	})
	Play(t, 3, func(t *testing.T, g *Stage) {
		Lead(t, g.Server, 2)
		g.Session()
	})
	for end := time.Now().Add(leakPatience); len(ours(stacks())) > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(stacks())
		}
	}
}
