package docs_test

import (
	"strings"
	"testing"
)

// TestGetStartedShowsTestedCode: the programs and commands in docs/get-started.md also appear on pages whose tests run
// them.
func TestGetStartedShowsTestedCode(t *testing.T) {
	tested := ""
	for _, path := range []string{"README.md", "docs/http.md", "docs/python.md"} {
		tested += readPage(t, path).text
	}
	found := 0
	for _, f := range readPage(t, "docs/get-started.md").fences {
		if f.language != "python" && !strings.Contains(f.text, "curl ") {
			continue
		}
		if found++; !strings.Contains(tested, f.text) {
			t.Errorf("docs/get-started.md:%d: no tested page has this code:\n%s", f.line, f.text)
		}
	}
	if found != 3 {
		t.Errorf("%d programs were found", found)
	}
}

// searched lists words that users search for.
var searched = strings.Fields("bootstrap quorum split_brain failover heartbeat lease fencing_token linearizable " +
	"idempotent backpressure rolling_upgrade decommission disaster_recovery RBAC audit_log capacity_planning " +
	"observability rate_limit TTL")

// TestTheGlossaryHasTheWordsThatUsersSearch: each word is a glossary term.
func TestTheGlossaryHasTheWordsThatUsersSearch(t *testing.T) {
	text := readPage(t, "docs/glossary.md").text
	for _, word := range searched {
		if term := "**" + strings.ReplaceAll(word, "_", " ") + "**"; !strings.Contains(text, term) {
			t.Errorf("the glossary has no term %s", term)
		}
	}
}

// TestTheSiteMapHasAllPages: docs/README.md links to every page in docs, except the pages below the measurements.
func TestTheSiteMapHasAllPages(t *testing.T) {
	linked := make(map[string]bool)
	for _, m := range inlineLink.FindAllStringSubmatch(readPage(t, "docs/README.md").text, -1) {
		file, _, _ := strings.Cut(m[1], "#")
		linked["docs/"+file] = true
	}
	for _, p := range pages(t) {
		if p.path == "docs/README.md" || strings.HasPrefix(p.path, "docs/measured/") {
			continue
		}
		if strings.HasPrefix(p.path, "docs/") && !linked[p.path] {
			t.Errorf("the site map does not link to %s", p.path)
		}
	}
}
