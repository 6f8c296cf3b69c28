package load

import (
	"fmt"
	"sync"
)

// preparing is how many callers are prepared at the same time.
const preparing = 64

// Prepare makes what n callers need before the part that is measured, such as a session each, many at
// the same time. It gives the first error, if one failed.
func Prepare[T any](n int, prepare func(i int) (T, error)) ([]T, error) {
	prepared, failed := make([]T, n), make([]error, n)
	room := make(chan struct{}, preparing)
	var running sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		running.Go(func() {
			prepared[i], failed[i] = prepare(i)
			<-room
		})
	}
	running.Wait()
	for i, err := range failed {
		if err != nil {
			return prepared, fmt.Errorf("prepare caller %d of %d: %w", i, n, err)
		}
	}
	return prepared, nil
}
