// Package option applies functional options.
package option

// Apply applies each option to the defaults in turn and returns the result.
func Apply[C any, O ~func(*C)](to *C, options []O) *C {
	for _, o := range options {
		o(to)
	}
	return to
}
