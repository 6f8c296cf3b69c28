package loadgen

import (
	"fmt"
	"sync"
)

// violations are promises that did not hold.
type violations struct {
	mu    sync.Mutex // guards what follows
	texts []string
	more  int
}

func (v *violations) add(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.texts) == maxViolations {
		v.more++
		return
	}
	v.texts = append(v.texts, err.Error())
}

func (v *violations) addf(format string, args ...any) { v.add(fmt.Errorf(format, args...)) }

func (v *violations) list() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := append([]string(nil), v.texts...)
	if v.more > 0 {
		list = append(list, fmt.Sprintf("and %d more", v.more))
	}
	return list
}
