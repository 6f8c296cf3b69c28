package report

import (
	"math"

	"github.com/signalbox/signalbox/bench/internal/load"
)

// HeapPerSession is how many bytes of the server's heap one idle session takes.
func HeapPerSession(r load.Result) float64 { return given(r.BytesPerSession) }

// RSSPerSession is how many bytes of the server's memory one idle session takes, its connection included.
func RSSPerSession(r load.Result) float64 { return given(r.RSSBytesPerSession) }

// CorePercent is how much of one core the server used.
func CorePercent(r load.Result) float64 { return 100 * given(r.ServerCPUSeconds) / orNaN(r.Seconds) }

// ConvergeMS is how long it took until every consumer had seen a change, all but one time in a hundred.
func ConvergeMS(r load.Result) float64 {
	if r.ConvergeMS == nil {
		return math.NaN()
	}
	return r.ConvergeMS.P99
}

// BytesPerChange is how many bytes one change cost for one consumer.
func BytesPerChange(r load.Result) float64 { return given(r.BytesPerChangeAndConsumer) }

func given(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
