/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constants of nature and units of astronomy, in cgs. */
#ifndef CONSTANTS_H
#define CONSTANTS_H

#define GRAVITY_CGS 6.67430e-8 /* CODATA 2018, cm^3 g^-1 s^-2 */
#define KPC_CM 3.0856776e21
#define AU_CM 1.495978707e13
#define SOLAR_RADIUS_CM 6.957e10 /* nominal, IAU 2015 */
#define SOLAR_MASS_G 1.98841e33
#define YEAR_S 3.15576e7 /* Julian */
#define GYR_S 3.15576e16
#endif
