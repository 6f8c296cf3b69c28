package process

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// delayVariable names the environment variable with the path of the sync delay file, for programs from BuildDelayed.
const delayVariable = "SIGNALBOX_TEST_SYNC_DELAY"

// BuildDelayed builds a program with adjustable log sync delays, see Place.DelaySyncs. The build replaces a source file
// in the log package; all other programs contain no delay.
func BuildDelayed(dir string) (Program, error) {
	const syncFile = "github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", syncFile).Output()
	if err != nil {
		return Program{}, fmt.Errorf("process: find the log's sources: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "sync_linux.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return Program{}, fmt.Errorf("process: read the log's sources: %w", err)
	}
	const head = "func (f osFile) SyncData() error {\n"
	before, after, found := strings.Cut(string(text), head)
	if !found {
		return Program{}, fmt.Errorf("process: %s has no SyncData", source)
	}
	before = strings.Replace(before, "import (\n", "import (\n\t\"strings\"\n\t\"time\"\n", 1)
	delayed := before + head + "\tdelaySync()\n" + after + fmt.Sprintf(delaySync, delayVariable)
	replaced, overlay := filepath.Join(dir, "sync_delayed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: replaced}})
	if err != nil {
		return Program{}, err
	}
	for name, content := range map[string][]byte{replaced: []byte(delayed), overlay: list} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return Program{}, fmt.Errorf("process: write an overlay: %w", err)
		}
	}
	p, err := build(filepath.Join(dir, "signalbox-delayed"), "-overlay="+overlay)
	p.delays = true
	return p, err
}

const delaySync = `
// delaySync waits for the time in the delay file.
func delaySync() {
	text, err := os.ReadFile(os.Getenv(%q))
	if err != nil {
		return
	}
	if d, err := time.ParseDuration(strings.TrimSpace(string(text))); err == nil {
		time.Sleep(d)
	}
}
`

// DelaySyncs delays each following log sync in the place. The place's program must come from BuildDelayed.
func (p *Place) DelaySyncs(d time.Duration) error {
	if !p.Program.delays {
		return fmt.Errorf("process: %s delays no syncs", p.Program.Path)
	}
	name := p.delayFile()
	if err := os.WriteFile(name+".new", []byte(d.String()), 0o644); err != nil {
		return fmt.Errorf("process: delay syncs: %w", err)
	}
	return os.Rename(name+".new", name) // a sync reads the old delay or the new one
}

func (p *Place) delayFile() string { return p.Dir + ".delay" }
