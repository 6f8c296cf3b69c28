// Package option applies the functional options of calls.
package option

// Apply changes what a call has by default, by each option in turn, and returns the result.
func Apply[C any, O ~func(*C)](to *C, options []O) *C {
	for _, o := range options {
		o(to)
	}
	return to
}
