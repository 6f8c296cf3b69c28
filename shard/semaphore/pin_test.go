package semaphore

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// TestBytesOfASemaphoreAreWhatTheyWere: the state of a semaphore in the record of its object.
func TestBytesOfASemaphoreAreWhatTheyWere(t *testing.T) {
	sem := Kind().New().(*semaphores)
	state := sem.Alloc()
	// The text of the data stands beside the semaphore, as what it is filled with.
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
