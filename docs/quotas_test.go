package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// TestQuotasOfThePageAreThoseOfTheCode: what a byte quota counts, and the default quotas.
func TestQuotasOfThePageAreThoseOfTheCode(t *testing.T) {
	text, err := os.ReadFile("concepts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Quotas\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section = strings.Join(strings.Fields(section), " ")
	millions := func(n int) string { return fmt.Sprintf("%d,000,000", n/1_000_000) }
	for _, sentence := range []string{
		fmt.Sprintf("| semaphore | %d, its name and its data |", shard.ObjectBytes),
		fmt.Sprintf("| owner or waiter | %d, and its data |", shard.LinkBytes),
		fmt.Sprintf("| session | %d, its description, its key, and client details |", shard.SessionBytes),
		fmt.Sprintf("| cached response | %d; with a body %d more, and the body |", shard.AnswerBytes,
			shard.AnswerBodyBytes),
		fmt.Sprintf("| node config | %s objects; %d GiB or three quarters", millions(shard.DefaultNodeObjects),
			shard.DefaultNodeBytes>>30),
		fmt.Sprintf("%s objects; bytes by the memory of its hosts, %d GiB at most",
			millions(shard.DefaultShardObjects), shard.DefaultShardBytes>>30),
	} {
		if !strings.Contains(section, sentence) {
			t.Errorf("the page does not say %q", sentence)
		}
	}
}
