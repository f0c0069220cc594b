// Tests of the rule that ends a warm-up.
package program

import "testing"

func warm(costs ...float64) []WarmupSlice {
	var made []WarmupSlice
	for _, cost := range costs {
		one := WarmupSlice{CPUUs: cost}
		if cost > 0 {
			one.Operations = 1
		}
		made = append(made, one)
	}
	return made
}

func TestItIsSteadyWhenTheCostHasStoppedToFall(t *testing.T) {
	for _, one := range []struct {
		slices []WarmupSlice
		want   bool
	}{
		{warm(10, 10, 10, 10, 10, 10, 10, 10, 10), false},
		{warm(10, 10, 10, 10, 10, 10, 10, 10, 10, 10), true},
		{warm(10, 10, 10, 10, 10, 9, 9, 9, 10, 10), false},
		{warm(99, 10, 10, 10, 10, 10, 9.6, 9.6, 9.6, 1, 20), true},
		{warm(0, 0, 0, 0, 0, 0, 0, 0, 0, 0), false},
	} {
		if got := isSteady(one.slices); got != one.want {
			t.Error(one.slices, got)
		}
	}
}
