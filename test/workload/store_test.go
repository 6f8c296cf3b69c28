package workload

import (
	"testing"

	"github.com/signalbox/signalbox/test/history"
)

func TestTheStoreTakesNoTokenBelowOneThatItHasSeen(t *testing.T) {
	s := make(Store)
	a, b := history.Semaphore{Name: "a"}, history.Semaphore{Name: "b"}
	for i, w := range []struct {
		of    history.Semaphore
		token uint64
		want  bool
	}{{a, 5, true}, {a, 5, true}, {b, 3, true}, {a, 4, false}, {a, 6, true}, {a, 5, false}, {b, 4, true}} {
		if got := s.Write(w.of, w.token); got != w.want {
			t.Errorf("write %d, %v with token %d: %v, want %v", i, w.of, w.token, got, w.want)
		}
	}
}
