package serve

import (
	"slices"
	"testing"
)

// TestTheFirstHostOfADemonstrationHasTheUsualPorts: the pages name 7420, 7422, and 7424 for the console.
func TestTheFirstHostOfADemonstrationHasTheUsualPorts(t *testing.T) {
	ports, err := (&demo{port: demoPort}).ports()
	want := []int{7420, 7421, 7422, 7424, 7430, 7431, 7432, 7434, 7440, 7441, 7442, 7444}
	if err != nil || !slices.Equal(ports, want) {
		t.Errorf("%v %v, want %v", ports, err, want)
	}
}
