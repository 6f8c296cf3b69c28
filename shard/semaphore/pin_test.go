package semaphore

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// TestBytesOfASemaphoreAreWhatTheyWere: a semaphore's state in its object's record.
func TestBytesOfASemaphoreAreWhatTheyWere(t *testing.T) {
	sem := Kind().New().(*semaphores)
	state := sem.Alloc()
	// The data text is next to the semaphore, as a filled value.
	var filled struct {
		semaphore
		data string
	}
	codectest.Check(t, "testdata/pins", codectest.Form{
		Name: "semaphore", Of: &filled, Was: []string{"semaphore.", ""},
		Write: func() []byte {
			s := sem.At(state)
			*s = filled.semaphore
			s.data = sem.texts.Keep([]byte(filled.data))
			return sem.Save(nil, state)
		},
		Unsaved: []string{
			"semaphore.data", "semaphore.taken", "semaphore.owners", "semaphore.dataRevision",
			"semaphore.limitRevision",
		},
	})
}
