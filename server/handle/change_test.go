package handle

import (
	"testing"

	"github.com/signalbox/signalbox/server/caller"
)

// TestAuthorNamesTheCredential: the audit log distinguishes certificates and tokens.
func TestAuthorNamesTheCredential(t *testing.T) {
	for want, by := range map[string]caller.Credential{
		"ann (token billing)":       {Name: "billing"},
		"ann (certificate billing)": {Name: "billing", Certificate: true},
		"ann":                       {},
	} {
		if got := Asker("ann", by, "10.0.0.1:7", false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Asker("", caller.Credential{}, "10.0.0.1:7", false); got != "a client at 10.0.0.1:7" {
		t.Errorf("an anonymous client is %q", got)
	}
}
